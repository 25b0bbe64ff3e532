/// A condition for a value of a type, as the model must generate it.
public struct Constraint<Value>: Sendable, Hashable {
    let payload: ConstraintPayload

    init(payload: ConstraintPayload) {
        self.payload = payload
    }
}

/// The condition, without the type of its value.
indirect enum ConstraintPayload: Sendable, Hashable {
    case pattern(String)
    case anyOf([String])
    /// From the first to the second, both included; `nil` means no limit.
    case integers(Int?, Int?)
    case numbers(Double?, Double?)
    case count(ArrayConstraint)
    /// A condition for each element.
    case element(ConstraintPayload)
}

extension Constraint where Value == String {
    /// A part of the text matches a regular expression; `^` and `$` are the ends of the text.
    public static func pattern(_ expression: String) -> Constraint { Constraint(payload: .pattern(expression)) }

    public static func constant(_ text: String) -> Constraint { Constraint(payload: .anyOf([text])) }

    public static func anyOf(_ texts: String...) -> Constraint { Constraint(payload: .anyOf(texts)) }

    public static func anyOf(_ texts: [String]) -> Constraint { Constraint(payload: .anyOf(texts)) }
}

extension Constraint where Value == Int {
    public static func minimum(_ value: Int) -> Constraint { Constraint(payload: .integers(value, nil)) }

    public static func maximum(_ value: Int) -> Constraint { Constraint(payload: .integers(nil, value)) }

    public static func range(_ range: ClosedRange<Int>) -> Constraint {
        Constraint(payload: .integers(range.lowerBound, range.upperBound))
    }
}

extension Constraint where Value == Double {
    public static func minimum(_ value: Double) -> Constraint { Constraint(payload: .numbers(value, nil)) }

    public static func maximum(_ value: Double) -> Constraint { Constraint(payload: .numbers(nil, value)) }

    public static func range(_ range: ClosedRange<Double>) -> Constraint {
        Constraint(payload: .numbers(range.lowerBound, range.upperBound))
    }
}

extension Constraint {
    public static func count<Element>(_ count: Int) -> Constraint where Value == [Element] {
        Constraint(payload: .count(ArrayConstraint(minimum: count, maximum: count)))
    }

    public static func count<Element>(_ range: ClosedRange<Int>) -> Constraint where Value == [Element] {
        Constraint(payload: .count(ArrayConstraint(minimum: range.lowerBound, maximum: range.upperBound)))
    }

    public static func minimumCount<Element>(_ count: Int) -> Constraint where Value == [Element] {
        Constraint(payload: .count(ArrayConstraint(minimum: count)))
    }

    public static func maximumCount<Element>(_ count: Int) -> Constraint where Value == [Element] {
        Constraint(payload: .count(ArrayConstraint(maximum: count)))
    }

    /// A condition for each element.
    public static func element<Element>(_ constraint: Constraint<Element>) -> Constraint where Value == [Element] {
        Constraint(payload: .element(constraint.payload))
    }
}

/// The permitted number of elements of an array.
public struct ArrayConstraint: Sendable, Hashable {
    public var minimum: Int?
    public var maximum: Int?

    public init(minimum: Int? = nil, maximum: Int? = nil) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// From the lower to the upper bound, both included; `nil` means no limit.
    public static func count(lowerBound: Int?, upperBound: Int?) -> ArrayConstraint {
        ArrayConstraint(minimum: lowerBound, maximum: upperBound)
    }
}
