internal import CPlatform
internal import Glibc

/// A signal that asks a process to end: all that end it by default, except those for a crash.  See signal(7)
package struct EndSignal: RawRepresentable, Hashable, Sendable, CaseIterable {
    package let rawValue: Int32

    /// Nil for a signal of another kind.
    package init?(rawValue: Int32) {
        guard Self.numbers.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(_ number: Int32) { rawValue = number }

    package static let terminate = EndSignal(SIGTERM)
    package static var allCases: [EndSignal] { numbers.map { EndSignal($0) } }

    private static let numbers: [Int32] =
        [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF]
        + [SIGIO, SIGPWR, SIGSTKFLT] + Array(cplatform_first_realtime_signal()...cplatform_last_realtime_signal())
}

/// Blocks the signals that ask the process to end, so that a `SignalSource` can read them, and ignores those for a
/// closed pipe or a file over its size limit.  C: pthread_sigmask(3), signal(2)
///
/// Call before the first thread starts: threads inherit the mask. Signals ignored at exec (nohup, a shell's background
/// job) stay ignored; SIGTERM always ends the process. SIGQUIT, which Swift's runtime treats as a crash, is blocked
/// too.
package func prepareSignals() {
    var set = endSignalSet()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
}

/// Without signals ignored at exec: the kernel would queue a blocked signal even if it is ignored.
private func endSignalSet() -> sigset_t {
    var set = sigset_t()
    _ = unsafe sigemptyset(&set)
    for signal in EndSignal.allCases where signal == .terminate || !isIgnored(signal) {
        _ = unsafe sigaddset(&set, signal.rawValue)
    }
    return set
}

/// C: sigaction(2)
private func isIgnored(_ signal: EndSignal) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(signal.rawValue, nil, &action) == 0 else { return false }
    // SIG_IGN is the number 1 as a function pointer; functions cannot be compared.
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
}

/// A descriptor that becomes readable when a blocked end signal arrives.  Isolation: one thread.  C: signalfd(2)
package struct SignalSource: ~Copyable, Sendable {
    private let descriptor: FileDescriptor
    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    /// Reads the signals that `prepareSignals` blocked.
    package init() throws(Errno) {
        var set = endSignalSet()
        descriptor = FileDescriptor(owning: try valueOrErrno { unsafe cplatform_signalfd(&set) })
    }

    /// The next pending signal; nil when there is none.
    package borrowing func next() -> EndSignal? {
        EndSignal(rawValue: cplatform_read_signal(descriptor.raw))
    }
}

/// A descriptor that becomes readable when another process has ended.  C: pidfd_open(2)
package struct ProcessHandle: ~Copyable, Sendable {
    private let descriptor: FileDescriptor
    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    /// Nil when the process does not exist, or the kernel does not support such descriptors.
    package init?(processID: Int64) {
        guard let id = pid_t(exactly: processID), id > 0 else { return nil }
        let raw = cplatform_pidfd_open(id)
        if raw < 0 { return nil }
        // Kernels since 5.3 set close-on-exec on it.
        descriptor = FileDescriptor(owning: raw)
    }
}

/// This process's id.
package func currentProcessID() -> Int64 { Int64(getpid()) }

/// Ends the process without exit handlers: they would run while other threads still use the libraries.  C: _exit(2)
package func endProcess(code: Int32) -> Never {
    _exit(code)
}
