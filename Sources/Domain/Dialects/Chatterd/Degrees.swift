import ChatterdBasics

/// A latitude or a longitude in degrees, as a number of JSON without an exponent. A path may have its text.
public struct Degrees: Sendable, Equatable {
    /// The limit of the text, in bytes.
    public static let maximumLength = 32

    /// The number as it was written, without spaces around it.
    public let text: String

    /// Reads a latitude; `nil` for a text that is none.
    public init?(latitude text: String) {
        self.init(text, upTo: 90)
    }

    /// Reads a longitude; `nil` for a text that is none.
    public init?(longitude text: String) {
        self.init(text, upTo: 180)
    }

    private init?(_ text: String, upTo limit: Double) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let start = text.utf8.drop { $0 == UInt8(ascii: " ") }
        guard let end = start.lastIndex(where: { $0 != UInt8(ascii: " ") }) else { return nil }
        let number = Array(start[...end])
        let isPlain = number.allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        }
        // JSON refuses what other readers of the number may refuse, such as leading zeros.
        guard isPlain, (try? JSONReader.validate(number.span)) != nil else { return nil }
        let plain = String(decoding: number, as: UTF8.self)
        guard let value = Double(plain), abs(value) <= limit else { return nil }
        self.text = plain
    }
}
