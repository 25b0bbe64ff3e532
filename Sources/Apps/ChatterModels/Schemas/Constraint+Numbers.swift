#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Decimal
#else
    public import struct Foundation.Decimal
#endif

extension Constraint where Value == Float {
    public static func minimum(_ value: Float) -> Constraint { numbers(value, nil) }

    public static func maximum(_ value: Float) -> Constraint { numbers(nil, value) }

    public static func range(_ range: ClosedRange<Float>) -> Constraint { numbers(range.lowerBound, range.upperBound) }

    private static func numbers(_ minimum: Float?, _ maximum: Float?) -> Constraint {
        Constraint(payload: .numbers(minimum.map { Double($0) }, maximum.map { Double($0) }))
    }
}

extension Constraint where Value == Decimal {
    public static func minimum(_ value: Decimal) -> Constraint { numbers(value, nil) }

    public static func maximum(_ value: Decimal) -> Constraint { numbers(nil, value) }

    public static func range(_ range: ClosedRange<Decimal>) -> Constraint {
        numbers(range.lowerBound, range.upperBound)
    }

    private static func numbers(_ minimum: Decimal?, _ maximum: Decimal?) -> Constraint {
        Constraint(payload: .numbers(minimum?.nearestDouble, maximum?.nearestDouble))
    }
}

extension Constraint where Value == String {
    /// A part of the text matches a regular expression; `^` and `$` are the ends of the text. Of an expression that was changed by a method,
    /// as by `ignoresCase()`, the text counts only.
    public static func pattern<Output>(_ expression: Regex<Output>) -> Constraint {
        .pattern(expression._literalPattern ?? "")
    }
}

extension Schema {
    /// The form with constraints added. Of an array, those of its elements go to its items.
    public func adding<Value>(_ constraints: [Constraint<Value>]) -> Schema {
        adding(constraints.map(\.payload))
    }
}
