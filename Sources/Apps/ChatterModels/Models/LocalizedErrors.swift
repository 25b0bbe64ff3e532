#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What `localizedDescription` and SwiftUI's alerts show. The sentences are English.

extension LLMError: LocalizedError {
    public var errorDescription: String? { message }
}

extension SchemaViolation: LocalizedError {
    public var errorDescription: String? { description }
}

extension JSONFault: LocalizedError {
    public var errorDescription: String? { description }
}
