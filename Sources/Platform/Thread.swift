internal import CPlatform
internal import Glibc

/// A descriptor that wakes the thread polling it.  Isolation: any thread.  C: eventfd(2)
package struct WakeUp: ~Copyable, Sendable {
    private let descriptor: FileDescriptor
    package var raw: Int32 { descriptor.raw }

    package init() throws(Errno) {
        descriptor = FileDescriptor(owning: try valueOrErrno { cplatform_eventfd() })
    }

    package borrowing func signal() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor.raw, &one, 8)
    }

    /// Clears all signals so far.
    package borrowing func drain() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor.raw, &count, 8)
    }

    /// Sleeps until signalled or until the time is up; a negative time means no limit.  C: poll(2)
    package borrowing func wait(timeoutMilliseconds: Int32) {
        var request = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&request, 1, timeoutMilliseconds) > 0 { drain() }
    }
}

/// A joinable thread.
package struct Thread: Sendable {
    private let id: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread; the name is cut at 15 bytes.  C: pthread_create(3)
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        var id = pthread_t()
        let named = Body {
            unsafe cplatform_name_thread(String(name.prefix(15)))
            body()
        }
        // Safety: balanced by takeRetainedValue in threadEntry, or by the release below if no thread starts.
        let context = unsafe Unmanaged.passRetained(named)
        let code = unsafe pthread_create(&id, nil, threadEntry, context.toOpaque())
        if code != 0 {
            unsafe context.release()
            throw Errno(code: code)
        }
        self.id = id
    }

    package func join() {
        _ = pthread_join(id, nil)
    }

    /// A number that tells threads apart.
    package static var current: UInt { UInt(pthread_self()) }

    fileprivate static func run(_ context: UnsafeMutableRawPointer) {
        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
    }
}

// File scope: C calls it on the new thread, so it may carry no isolation.
private func threadEntry(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context = unsafe context { unsafe Thread.run(context) }
    return nil
}
