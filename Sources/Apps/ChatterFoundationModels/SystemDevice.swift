import ChatterModels

/// What FoundationModels does for `SystemLLM`, in types that exist on all systems.
struct SystemDevice: Sendable {
    /// Whether its model can answer.
    var availability: @Sendable () -> Availability
    /// Answers the last prompt of a request, and reports each step. It ends early when the model has called tools.
    ///
    /// - Throws: `ProviderError`, `LLMError` or `CancellationError`.
    var answer: @Sendable (ProviderRequest, _ report: @escaping @Sendable (SystemStep) -> Void) async throws -> Void

    /// The device of this system.
    static var current: SystemDevice {
        #if canImport(FoundationModels) && (os(macOS) || os(iOS) || os(visionOS))
            if #available(macOS 26, iOS 26, visionOS 26, *) { return .foundationModels }
        #endif
        return .absent
    }

    /// A system without FoundationModels.
    static var absent: SystemDevice {
        SystemDevice(
            availability: { .unavailable(.deviceNotSupported) },
            answer: { _, _ in throw LLMError.unavailable(.deviceNotSupported) })
    }
}
