internal import CPlatform
internal import Glibc

/// Nanoseconds on the monotonic clock; the zero is arbitrary.  C: clock_gettime(2), CLOCK_MONOTONIC
package func monotonicNanoseconds() -> Int64 {
    let time = read(CLOCK_MONOTONIC)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}

/// Milliseconds since 1970-01-01 UTC on the wall clock, which may jump.  C: clock_gettime(2), CLOCK_REALTIME
package func unixMilliseconds() -> Int64 {
    // Computed without nanoseconds, which would overflow in the year 2262.
    let time = read(CLOCK_REALTIME)
    return Int64(time.tv_sec) &* 1_000 &+ Int64(time.tv_nsec) / 1_000_000
}

/// Nanoseconds that the system was suspended since boot; the monotonic clock stands still meanwhile.
package func suspendedNanoseconds() -> Int64 { cplatform_suspended_time() }

private func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    _ = unsafe clock_gettime(clock, &time)
    return time
}
