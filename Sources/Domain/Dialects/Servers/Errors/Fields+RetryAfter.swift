import ChatterdChat
import ChatterdHTTP

extension Fields {
    /// The delay that the server asks for in `Retry-After`, as seconds or a date (RFC 9110 10.2.3); at most a day.
    ///
    /// A date is compared with the server's own `Date`, because both are from the same clock. Without `Date` it is compared with
    /// `now`, in seconds since 1970.
    public func retryAfter(now: Int64) -> Duration? {
        guard let text = self[.retryAfter] else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : .seconds(Swift.min(seconds, 86_400))
        }
        guard let date = HTTPDate.seconds(of: text) else { return nil }
        let sent = self[.date].flatMap(HTTPDate.seconds) ?? Int(now)
        return .seconds(Swift.min(Swift.max(date - sent, 0), 86_400))
    }
}
