#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An image of a message.
public struct ImageContent: Sendable, Hashable, Codable {
    /// The file in base64 (RFC 4648, section 4).
    public var base64: String
    /// `image/png`, `image/jpeg` …
    public var mediaType: String

    public init(base64: String, mediaType: String = "image/png") {
        self.base64 = base64
        self.mediaType = mediaType
    }

    /// Creates an image of the bytes of its file.
    public init(data: Data, mediaType: String = "image/png") {
        self.init(base64: data.base64EncodedString(), mediaType: mediaType)
    }
}
