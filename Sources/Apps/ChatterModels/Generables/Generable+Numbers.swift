#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Decimal
#else
    public import struct Foundation.Decimal
#endif

extension Float: Generable, PartialValue {
    public typealias Partial = Float

    public static var schema: Schema { .number() }

    public init(from content: StructuredContent) throws {
        guard let value = content.double else { throw content.mismatch("number") }
        self = Float(value)
    }

    public init?(partial content: StructuredContent) {
        try? self.init(from: content)
    }

    public var generableContent: StructuredContent { Double("\(self)").map { .number($0) } ?? .null }
}

extension Decimal: Generable, PartialValue {
    public typealias Partial = Decimal

    public static var schema: Schema { .number() }

    /// Creates the number that a JSON text shows, with the 15 digits of a `Double`: `0.1` is one tenth.
    public init(from content: StructuredContent) throws {
        switch content {
        case .integer(let value): self = Decimal(value)
        case .number(let value):
            guard let number = Decimal(string: "\(value)") else { throw content.mismatch("number") }
            self = number
        default: throw content.mismatch("number")
        }
    }

    public init?(partial content: StructuredContent) {
        try? self.init(from: content)
    }

    public var generableContent: StructuredContent { .number(nearestDouble) }

    var nearestDouble: Double { Double("\(self)") ?? .nan }
}
