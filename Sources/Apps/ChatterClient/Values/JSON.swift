#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The JSON of the API: names with underscores, times in RFC 3339 or in seconds since 1970.
enum JSON {
    /// Decodes a response.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(ChatterError) -> Value {
        do {
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            throw .malformed("The server sent something that is not of chatterd's API (\(Value.self)).")
        }
    }

    /// Encodes a body. Keys are sorted, so that a repeated request has the same bytes.
    ///
    /// - Parameter keepsNames: whether names with capitals stay as they are.
    static func encode(_ value: some Encodable, keepsNames: Bool = false) throws(ChatterError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = keepsNames ? .useDefaultKeys : .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw .malformed("The request cannot be written as JSON: \(error)")
        }
    }

    /// The times of four-digit years, in seconds since 1970. Later ones do not fit into an integer again.
    private static let times: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            if let seconds = try? container.decode(Int64.self) {
                guard times.contains(seconds) else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time")
                }
                return Date(timeIntervalSince1970: TimeInterval(seconds))
            }
            let text = try container.decode(String.self)
            guard let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")).parse(text)
            else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time")
            }
            return date
        }
        return decoder
    }
}
