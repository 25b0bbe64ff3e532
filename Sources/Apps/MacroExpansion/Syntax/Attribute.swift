/// `@Name(label: value, value)`.
struct Attribute {
    /// An argument: its label, and the tokens of its value.
    struct Argument {
        let label: String?
        let value: Range<Int>
    }

    /// The name with its module: `ChatterMacros.Guide`.
    let name: String
    let arguments: [Argument]
    /// The index of its `@`.
    let index: Int

    /// Whether this is a macro of the module `ChatterMacros`.
    func isMacro(_ macro: String) -> Bool { name == macro || name == "ChatterMacros.\(macro)" }

    /// The value of the argument `description`.
    func description(in source: SourceText) -> String? {
        arguments.first { $0.label == "description" }.map { source[$0.value] }
    }
}
