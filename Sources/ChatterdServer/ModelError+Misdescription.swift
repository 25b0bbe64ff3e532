import LanguageModels

extension ModelError {
    /// Whether a server that is not what its description says answers in this way.
    var mayBeMisdescribed: Bool { code == .rejected || code == .malformed || code == .modelNotFound }
}
