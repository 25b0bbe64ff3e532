/// A text for the terminal: literals of the program, with neutralised texts of others between them.
///
/// A `String` cannot become one, so the compiler finds each place that would write a foreign text as it is.
struct ConsoleText: ExpressibleByStringInterpolation, Sendable, Equatable {
    /// The text without control characters of others.
    let text: String

    init(stringLiteral value: StaticString) {
        text = value.description
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    /// The parts of a literal.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        /// Adds a text of a model, a server or a user.
        mutating func appendInterpolation(_ foreign: String) { text += foreign.neutralised }
    }
}
