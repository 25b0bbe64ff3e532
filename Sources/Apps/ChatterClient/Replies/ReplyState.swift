/// How far a reply is.
public enum ReplyState: String, Sendable, Hashable, Codable {
    case streaming, complete, failed, cancelled, interrupted
}
