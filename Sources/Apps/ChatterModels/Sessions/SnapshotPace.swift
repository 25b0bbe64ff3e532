/// When the value so far of a growing text is shown. A snapshot costs as much as the whole text, so that one for each piece of a long text
/// would take a time that is quadratic in its length.
///
/// Up to `shortLength` each piece has a snapshot. Beyond it there is one in each `interval` at most: what is shown together costs a
/// constant part of the time.
struct SnapshotPace: Sendable {
    typealias Clock = @Sendable () -> ContinuousClock.Instant

    /// In bytes.
    static let shortLength = 8 << 10
    static let interval = Duration.milliseconds(50)

    private let now: Clock
    private var last: ContinuousClock.Instant?

    init(_ now: @escaping Clock) {
        self.now = now
    }

    /// Whether a text of this length is shown now.
    func permits(_ length: Int) -> Bool {
        guard length > Self.shortLength, let last else { return true }
        return now() - last >= Self.interval
    }

    /// The interval begins: a snapshot was shown, and its reader is done with it.
    mutating func restart() {
        last = now()
    }
}
