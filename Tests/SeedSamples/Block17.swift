// swift-format-ignore-file
import ChatterSwiftAI

/// A name that the proposal leaves open.
struct AnyConstraint: Sendable, Equatable {}

enum Block17 {
// Printed:
/// The constraint payload - either constrains this value or sub-values
internal indirect enum ConstraintPayload: Sendable, Equatable {
  case this(ConstraintKind)      // constrains this value
  case sub(AnyConstraint)        // constrains sub-values
}

enum ConstraintKind: Sendable, Equatable {
  case string(StringConstraint)
  case int(IntConstraint)
  case double(DoubleConstraint)
  case boolean(BooleanConstraint)
  case array(ArrayConstraint)
}

enum ArrayConstraint: Sendable, Equatable {
  case count(lowerBound: Int?, upperBound: Int?)
}

enum StringConstraint: Sendable, Equatable {
  case pattern(String)
  case constant(String)
  case anyOf([String])
}

enum IntConstraint: Sendable, Equatable {
  case range(lowerBound: Int?, upperBound: Int?)
}

enum DoubleConstraint: Sendable, Equatable {
  case range(lowerBound: Double?, upperBound: Double?)
}

enum BooleanConstraint: Sendable, Equatable { }
// End.
}

extension Block17 {
    /// The form of a value under the library's condition for the printed one.
    static func schema(_ kind: ConstraintKind) -> Schema {
        switch kind {
        case .string(.pattern(let expression)): .string(constraints: [.pattern(expression)])
        case .string(.constant(let text)): .string(constraints: [.constant(text)])
        case .string(.anyOf(let texts)): .string(constraints: [.anyOf(texts)])
        case .int(.range(let lower, let upper)):
            .integer(constraints: [lower.map { .minimum($0) }, upper.map { .maximum($0) }].compactMap { $0 })
        case .double(.range(let lower, let upper)):
            .number(constraints: [lower.map { .minimum($0) }, upper.map { .maximum($0) }].compactMap { $0 })
        case .boolean: .boolean
        case .array(.count(let lower, let upper)):
            .array(items: .boolean, constraints: [.count(lowerBound: lower, upperBound: upper)])
        }
    }
}

/// The forms under each kind of printed condition.
package func schemasOfBlock17() -> [Schema] {
    let kinds: [Block17.ConstraintKind] = [
        .string(.pattern("^a")), .string(.constant("a")), .string(.anyOf(["a", "b"])),
        .int(.range(lowerBound: 1, upperBound: 2)), .double(.range(lowerBound: nil, upperBound: 0.5)),
        .array(.count(lowerBound: 1, upperBound: nil)),
    ]
    let conditions = [Block17.Constraint<Int>(payload: .this(.int(.range(lowerBound: 1, upperBound: 2))))]
    return (conditions == conditions ? kinds : []).map(Block17.schema)
}
