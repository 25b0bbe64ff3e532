import LanguageModels

extension ModelError {
    /// Whether the error may come from a wrong description of the server.
    var mayBeMisdescribed: Bool { code == .rejected || code == .malformed || code == .modelNotFound }
}
