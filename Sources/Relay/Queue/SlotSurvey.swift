/// The tickets of a process at a moment.
public struct SlotSurvey: Sendable {
    /// The tickets that wait, at their places.
    public var places: [SlotKey: QueuePlace] = [:]
    /// The tickets that have a slot.
    public var granted: [SlotKey] = []
    /// The slots that are taken by processes that live, for each model server that was asked for.
    public var running: [String: Int] = [:]

    /// Makes a survey that found nothing.
    public init() {}
}
