internal import Glibc

/// Nanoseconds on the clock that never jumps; the zero is arbitrary.  C: clock_gettime(2), CLOCK_MONOTONIC
package func monotonicNanoseconds() -> Int64 {
    nanoseconds(CLOCK_MONOTONIC)
}

/// Milliseconds since 1970-01-01 UTC on the wall clock, which may jump.  C: clock_gettime(2), CLOCK_REALTIME
package func unixMilliseconds() -> Int64 {
    nanoseconds(CLOCK_REALTIME) / 1_000_000
}

private func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
