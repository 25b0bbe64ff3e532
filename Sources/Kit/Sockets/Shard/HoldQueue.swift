import ChatterdBasics

/// Elements that all wait for the same time, the oldest first: the streams of a shard whose output may wait for more, so that both leave
/// in one `send` (docs/decisions/0047-heads-wait.md).
struct HoldQueue<Element> {
    /// The wait, in nanoseconds: more than a quick answer of a model server takes, and less than a person notices.
    static var time: UInt64 { 5_000_000 }

    private var entries = Queue<(element: Element, end: Instant)>()

    /// Adds an element that waits from now on.
    mutating func append(_ element: Element, at now: Instant) {
        entries.append((element, now.advanced(byNanoseconds: Self.time)))
    }

    /// Removes and returns an element whose time is over; `nil` if there is none.
    mutating func next(at now: Instant) -> Element? {
        guard let first = entries.first, first.end <= now else { return nil }
        return entries.popFirst()?.element
    }

    /// The milliseconds until the next element's time is over, rounded up; `nil` if no element waits.
    func wait(at now: Instant) -> Int32? {
        guard let first = entries.first else { return nil }
        guard first.end > now else { return 0 }
        return Int32(clamping: (first.end.nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }
}
