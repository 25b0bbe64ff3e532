import ChatterMacros
import ChatterdMirrorModels
import Testing

/// A type with the macros of two modules.
@ChatterMacros.Generable
@ChatterdMirrorModels.Generable
private struct City: ChatterdMirrorModels.Generable {
    @ChatterMacros.Guide(description: "In English", .pattern("^[A-Z]"))
    @ChatterdMirrorModels.Guide(description: "Of the other module")
    let name: String

    static let generationSchema = "City"
}

/// Macros that another module has too are resolved by their module.
struct QualifiedNamesTests {
    @Test func macrosOfBothModulesAreUsedTogether() throws {
        #expect(City.generationSchema == "City")
        #expect(
            City.schema
                == .object("City") { Property("name", String.self, description: "In English", .pattern("^[A-Z]")) })
        #expect(try City(checking: ["name": "Rome"]).name == "Rome")
    }
}
