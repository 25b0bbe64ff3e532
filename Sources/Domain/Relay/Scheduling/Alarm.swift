/// A future call that can be postponed and cancelled.
public protocol Alarm: AnyObject {
    /// Calls the handler once after the duration; replaces an earlier setting.
    func set(after duration: Duration)
    /// Cancels the call.
    func cancel()
}
