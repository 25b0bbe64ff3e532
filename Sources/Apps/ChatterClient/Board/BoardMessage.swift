#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A posting on the chat board.
public struct BoardMessage: Sendable, Hashable, Decodable {
    public let name: String
    public let text: String
    public let id: String
    public let time: Date

    /// Decodes the array of the API: name, text, id, time.
    public init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        name = try list.decode(String.self)
        text = try list.decode(String.self)
        id = try list.decode(String.self)
        time = try list.decode(Date.self)
    }
}
