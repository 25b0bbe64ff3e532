extension ExtensionWriter {
    /// The members of a structure.
    var structureMembers: String {
        """
        nonisolated \(access)static var schema: ChatterModels.Schema {
        ChatterModels.Schema.object(name: \(name), description: \(description), properties: [
        \(declaration.properties.map { property($0.name.withoutBackticks, $0.type, $0.guide) }.listLines)])
        }
        \(partialStructure)
        """
    }

    /// The members of the extension of a structure. They name no types of the declaration.
    var structureConformance: String {
        let properties = declaration.properties
        let assignments = properties.map {
            "self.\($0.name) = try content.member(\($0.name.withoutBackticks.swiftLiteral))\n"
        }
        return """
            \(access)init(from content: ChatterModels.StructuredContent) throws {
            \(assignments.joined())}
            \(access)var generableContent: ChatterModels.StructuredContent {
            ChatterModels.StructuredContent.object([
            \(properties.map { member($0.name.withoutBackticks, "self.\($0.name).generableContent") }.listLines)])
            }
            """
    }

    /// The value while it is generated: each property so far, `nil` before it has begun.
    private var partialStructure: String {
        let properties = declaration.properties
        return """
            nonisolated \(access)struct Partial: ChatterModels.PartialValue {
            \(properties.map { "\(access)let \($0.name): \($0.type.wrapped.text).Partial?\n" }.joined())\
            \(access)init?(partial content: ChatterModels.StructuredContent) {
            guard case .object = content else { return nil }
            \(properties.map { "self.\($0.name) = \(partialMember($0.name.withoutBackticks, $0.type))\n" }.joined())}
            }
            """
    }
}
