import Glibc

/// Polls `condition` until it returns a value, for a state without an event that the test could await (a row, a log line).
///
/// The limit exists only so that a broken program fails the test instead of hanging it.
@discardableResult
public func eventually<Value>(
    _ what: String, within seconds: Double = testTimeout, _ condition: () throws -> Value?
) throws -> Value {
    let deadline = monotonicSeconds() + seconds
    var pause: UInt32 = 1_000
    while true {
        if let value = try condition() { return value }
        guard monotonicSeconds() < deadline else { throw TestFailure("timeout: \(what)") }
        usleep(pause)
        pause = min(pause * 2, 200_000)
    }
}

/// Polls `condition` until it is true.
public func eventually(_ what: String, within seconds: Double = testTimeout, isTrue condition: () throws -> Bool) throws
{
    _ = try eventually(what, within: seconds) { try condition() ? true : nil }
}
