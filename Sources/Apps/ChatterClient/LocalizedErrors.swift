#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What `localizedDescription` and SwiftUI's alerts show. The sentences are English.

extension ChatterError: LocalizedError {
    public var errorDescription: String? { message }
}

extension ServerError: LocalizedError {
    public var errorDescription: String? { message }
}
