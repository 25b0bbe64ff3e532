/// The types of streams.
public enum DoorStreamType: String, Sendable {
    /// Server-sent events.
    case events = "text/event-stream"
    /// JSON objects, one a line.
    case lines = "application/x-ndjson"
}
