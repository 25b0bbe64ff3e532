extension ExtensionWriter {
    /// The members that are generated for a structure.
    var structureMembers: String {
        let properties = declaration.properties
        let assignments = properties.map {
            "self.\($0.name) = try content.member(\($0.name.withoutBackticks.swiftLiteral), as: \($0.type.metatype))\n"
        }
        return """
            \(access)static var schema: ChatterModels.Schema {
            ChatterModels.Schema.object(name: \(name), description: \(description), properties: [
            \(properties.map { property($0.name.withoutBackticks, $0.type, $0.guide) }.listLines)])
            }
            \(access)init(from content: ChatterModels.StructuredContent) throws {
            \(assignments.joined())}
            \(access)var generableContent: ChatterModels.StructuredContent {
            ChatterModels.StructuredContent.object([
            \(properties.map { member($0.name.withoutBackticks, "self.\($0.name).generableContent") }.listLines)])
            }
            \(partialStructure)
            """
    }

    /// The value while it is generated: each property so far, `nil` before it has begun.
    private var partialStructure: String {
        let properties = declaration.properties
        return """
            \(access)struct Partial: ChatterModels.PartialValue {
            \(properties.map { "\(access)let \($0.name): \($0.type.wrapped.text).Partial?\n" }.joined())\
            \(access)init?(partial content: ChatterModels.StructuredContent) {
            guard case .object = content else { return nil }
            \(properties.map { "self.\($0.name) = \(partialMember($0.name.withoutBackticks, $0.type))\n" }.joined())}
            }
            """
    }
}
