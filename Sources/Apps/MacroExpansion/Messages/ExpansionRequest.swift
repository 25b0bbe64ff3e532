import ChatterdBasics

/// The compiler asks what an attached macro adds to a declaration.
struct ExpansionRequest {
    /// The name of the macro's type in `#externalMacro`.
    private(set) var macro = ""
    /// What the macro adds: `member` for members, `extension` for an extension.
    private(set) var role = ""
    private(set) var attribute: SourceFragment?
    private(set) var declaration: SourceFragment?
    /// The type that is extended, with those around it: `Outer.Inner`.
    private(set) var extendedType = ""
    /// Whether the type conforms to the protocol only if the macro says so.
    private(set) var needsConformance = false
    /// The declarations around this one without their members, the innermost first.
    private(set) var context: [String] = []

    init(reading reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "macro") {
                try readMacro(&reader)
            } else if reader.matches(key, "macroRole") {
                role = try reader.text()
            } else if reader.matches(key, "attributeSyntax") {
                attribute = try SourceFragment(reading: &reader)
            } else if reader.matches(key, "declSyntax") {
                declaration = try SourceFragment(reading: &reader)
            } else if reader.matches(key, "extendedTypeSyntax") {
                extendedType = try SourceFragment(reading: &reader)?.source ?? ""
            } else if reader.matches(key, "conformanceListSyntax") {
                needsConformance = try SourceFragment(reading: &reader)?.source.isEmpty == false
            } else if reader.matches(key, "lexicalContext"), try reader.kind() == .array {
                try readContext(&reader)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readMacro(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "typeName") {
                macro = try reader.text()
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readContext(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        while try reader.nextElement() {
            if let fragment = try SourceFragment(reading: &reader) { context.append(fragment.source) }
        }
    }
}
