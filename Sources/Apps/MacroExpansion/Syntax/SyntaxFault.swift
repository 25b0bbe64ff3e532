/// A place of a declaration that a macro cannot expand.
struct SyntaxFault: Error, Equatable {
    /// What is wrong, and what to write instead.
    let message: String
    /// The byte of the declaration's source.
    let offset: Int
}
