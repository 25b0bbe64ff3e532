import ChatterdHTTP
import ChatterdLanguageModels

extension Fields {
    /// How long the server asks to be left alone: seconds, or a date (RFC 9110 10.2.3); at most a day.
    ///
    /// A date counts from the server's own `Date`, whose clock it was written by; `now` in seconds since 1970 is for servers
    /// that do not tell theirs.
    func retryAfter(now: Int64) -> Duration? {
        guard let text = self[.retryAfter] else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : .seconds(Swift.min(seconds, 86_400))
        }
        guard let date = HTTPDate.seconds(of: text) else { return nil }
        let sent = self[.date].flatMap(HTTPDate.seconds) ?? Int(now)
        return .seconds(Swift.min(Swift.max(date - sent, 0), 86_400))
    }
}
