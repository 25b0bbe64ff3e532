/// What a macro reads of the declaration of a type.
struct TypeDeclaration {
    enum Kind {
        case structure
        case enumeration
    }

    /// A property that a model generates.
    struct Property {
        /// The name, with its backticks.
        let name: String
        let type: TypeSyntax
        let guide: Attribute?
    }

    /// A case of an enumeration.
    struct Case {
        /// A value of a case.
        struct Parameter {
            /// The label; `nil` if there is none.
            let label: String?
            let type: TypeSyntax
        }

        /// The name, with its backticks.
        let name: String
        let parameters: [Parameter]
        /// The literal of its raw value.
        let rawValue: String?
        /// The index of its name.
        let index: Int
    }

    let kind: Kind
    let name: String
    /// `public` or `package`; `nil` for any other access.
    let access: String?
    let isPrivate: Bool
    /// Whether the access is not written.
    let hasDefaultAccess: Bool
    /// The words of the types that it inherits.
    let inherited: [String]
    var properties: [Property] = []
    var cases: [Case] = []
    var faults: [SyntaxFault] = []
}

extension String {
    /// An identifier without its backticks.
    var withoutBackticks: String { hasPrefix("`") ? String(dropFirst().dropLast()) : self }

    /// The text as a Swift literal.
    var swiftLiteral: String { "\"\(replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }
}
