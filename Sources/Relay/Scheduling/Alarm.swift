/// A call in the future that can be put off and cancelled.
public protocol Alarm: AnyObject {
    /// Calls the handler once after the duration; replaces an earlier setting.
    func set(after duration: Duration)
    /// Forgets the setting.
    func cancel()
}
