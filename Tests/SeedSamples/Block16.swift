// swift-format-ignore-file
import ChatterSwiftAI

// The names of block 17 are in this scope too.
extension Block17 {
// Printed:
struct Constraint<Value>: Sendable, Equatable {
  internal let payload: ConstraintPayload
}
// End.
}
