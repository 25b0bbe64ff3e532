/// A token of Swift source.
struct Token: Equatable {
    enum Kind: Equatable {
        /// A keyword, or an identifier with its backticks.
        case word
        case number
        /// A whole string literal, with its interpolations.
        case string
        case regex
        /// One character of an operator, or a bracket, or `@`, `#`, `,`, `:`, `;`.
        case symbol
    }

    let kind: Kind
    /// The bytes of the source.
    let range: Range<Int>
    let isFirstOfLine: Bool
}
