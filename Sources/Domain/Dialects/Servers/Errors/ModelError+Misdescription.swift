import ChatterdChat

extension ModelError {
    /// Whether the error may come from a wrong description of the server.
    public var mayBeMisdescribed: Bool { code == .rejected || code == .malformed || code == .modelNotFound }
}
