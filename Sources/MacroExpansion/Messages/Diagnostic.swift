/// A message of the compiler at a place of a source file.
struct Diagnostic: Equatable {
    let message: String
    let fileName: String
    /// The byte of the file.
    let offset: Int

    /// - Parameter fragment: the source in which the fault is.
    init(_ fault: SyntaxFault, in fragment: SourceFragment) {
        message = fault.message
        fileName = fragment.fileName
        offset = fragment.offset + fault.offset
    }
}
