import ChatterModels
import Testing

struct SchemaParsingTests {
    private enum Size: String, CaseIterable, Generable {
        case small, large
    }

    private static let forms: [Schema] = [
        User.schema, ResearchPaper.schema, WeatherReport.schema, Size.schema,
        .object("All", description: "d") {
            Property("int", Int.self, .range(1...3))
            Property("double", Double?.self, .maximum(0.5))
            Property("flags", [Bool].self, .count(2))
            Property("size", Size.self, description: "How large")
            Property("rows", [[String]].self)
        },
        .anyOf(name: "Either", description: nil, schemas: [.boolean, .integer()]), .optional(.string()),
    ]

    @Test(arguments: forms, [Schema.Style.plain, .strict])
    func writtenFormIsReadAsItself(_ form: Schema, _ style: Schema.Style) throws {
        let json = form.jsonSchema(style)
        #expect(try Schema(jsonSchema: json).jsonSchema(style) == json)
    }

    @Test func referencesAndOrderAreFollowed() throws {
        let json = try StructuredContent(
            json:
                ##"{"type":"object","title":"A","x-order":["z","a"],"properties":{"a":{"$ref":"#/$defs/B"},"z":{"type":["integer","null"]}},"required":["a","z"],"$defs":{"B":{"type":"string","const":"b"}}}"##
        )
        #expect(
            try Schema(jsonSchema: json)
                == .object("A") {
                    Property("z", Int?.self)
                    Property("a", String.self, .constant("b"))
                })
    }

    @Test(arguments: [
        ##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/A"}}}}"##, #"{"type":"null"}"#,
        ##"{"$ref":"#/$defs/B"}"##, #"{"type":["string","integer"]}"#, "[]", #"{"type":"object","properties":1}"#,
    ]) func otherFormsAreRefused(_ json: String) throws {
        let content = try StructuredContent(json: json)
        #expect(throws: SchemaViolation.self) { try Schema(jsonSchema: content) }
    }
}
