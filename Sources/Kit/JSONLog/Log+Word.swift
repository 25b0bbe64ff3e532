import ChatterdBasics

extension Log {
    /// A word of a closed set: a literal of the program, or the raw value of one of its enumerations.
    public struct Word: Sendable, Hashable, ExpressibleByStringLiteral {
        let text: String

        /// A literal.
        public init(stringLiteral literal: StaticString) {
            text = literal.description
        }

        /// A word that the caller has found in a closed set.
        public init(known word: String) {
            text = word
        }

        /// A case of an enumeration.
        public init<Value: RawRepresentable & CaseIterable>(_ value: Value) where Value.RawValue == String {
            text = value.rawValue
        }
    }
}
