import ChatterModels
import Testing

enum Color: String, CaseIterable, Generable {
    typealias Partial = WholeValue<Color>
    case red, redder, green
}

struct SchemaTests {
    @Test func schemaHasItsKeywordsInOrder() {
        #expect(
            User.schema.jsonSchema().json
                == ##"{"type":"object","title":"User","properties":{"name":{"type":"string","description":"Username","pattern":"^[a-zA-Z][a-zA-Z0-9_]{2,}$"},"age":{"type":"integer","description":"User age","minimum":18},"favoriteColors":{"type":"array","description":"User's favorite colors","items":{"type":"string","enum":["red","green","blue"]},"minItems":1,"maxItems":3}},"required":["name","favoriteColors"],"additionalProperties":false}"##
        )
    }

    @Test func strictSchemaRequiresEachMember() {
        let schema = User.schema.jsonSchema(.strict)
        #expect(schema["required"] == ["name", "age", "favoriteColors"])
        #expect(
            schema["properties"]?["age"]?.json
                == #"{"description":"User age","anyOf":[{"type":"integer","minimum":18},{"type":"null"}]}"#)
    }

    @Test func choiceIsAnEnumeration() {
        #expect(Color.schema.jsonSchema().json == #"{"title":"Color","type":"string","enum":["red","redder","green"]}"#)
        #expect(Int?.schema.jsonSchema().json == #"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#)
        #expect(
            [Double].schema.jsonSchema().json == #"{"type":"array","items":{"type":"number"}}"#)
    }

    @Test(arguments: [
        (#"{"name":"ada_1","age":18,"favoriteColors":["red"]}"#, ""),
        (#"{"name":"ada_1","favoriteColors":["red"]}"#, ""),
        (#"{"name":"ada_1","age":null,"favoriteColors":["red","green","blue"]}"#, ""),
        (#"{"name":"ada_1","age":36.0,"favoriteColors":["red"]}"#, ""),
        (#"{"name":"1a","favoriteColors":["red"]}"#, "$.name does not match /^[a-zA-Z][a-zA-Z0-9_]{2,}$/"),
        (#"{"name":"ada_1","age":17,"favoriteColors":["red"]}"#, "$.age is less than 18"),
        (#"{"name":"ada_1","age":"18","favoriteColors":["red"]}"#, "$.age is of type string, not integer"),
        (#"{"name":"ada_1","age":18.5,"favoriteColors":["red"]}"#, "$.age is of type number, not integer"),
        (#"{"name":"ada_1","favoriteColors":[]}"#, "$.favoriteColors has 0 elements, not 1 or more"),
        (
            #"{"name":"ada_1","favoriteColors":["red","red","red","red"]}"#,
            "$.favoriteColors has 4 elements, not 3 or fewer"
        ),
        (#"{"name":"ada_1","favoriteColors":["red","pink"]}"#, "$.favoriteColors[1] is not one of red, green, blue"),
        (#"{"name":"ada_1"}"#, "$.favoriteColors is missing"),
        (#"{"name":"ada_1","favoriteColors":["red"],"x":1}"#, "$.x is not a member of this object"),
        ("[]", "$ is of type array, not object"),
    ]) func valueOfAnotherFormIsReported(_ json: String, _ violation: String) throws {
        let found = User.schema.violations(in: try StructuredContent(json: json))
        #expect(found.map(\.description).joined(separator: "; ") == violation)
    }

    @Test func eachConditionIsChecked() throws {
        let schema = Schema.object("All") {
            Property("exact", String.self, .constant("x"))
            Property("share", Double.self, .range(0...1))
            Property("count", Int.self, .range(2...3))
            Property("pair", [Bool].self, .count(2))
            Property("color", Color.self)
            Property("maybe", Color?.self)
            Property("wrong", String?.self, .pattern("("))
        }
        let good = #"{"exact":"x","share":1,"count":3,"pair":[true,false],"color":"red","maybe":null}"#
        #expect(schema.violations(in: try StructuredContent(json: good)).isEmpty)
        let bad = #"{"exact":"y","share":1.5,"count":1,"pair":[1],"color":"pink","maybe":"redd","wrong":"x"}"#
        #expect(
            schema.violations(in: try StructuredContent(json: bad)).map(\.path)
                == ["$.exact", "$.share", "$.count", "$.pair", "$.pair[0]", "$.color", "$.maybe", "$.wrong"])
    }

    @Test func valuesAreWrittenInTheirForm() throws {
        let user = try User(from: StructuredContent(json: #"{"name":"ada_1","favoriteColors":["red"]}"#))
        #expect(user.generableContent.json == #"{"name":"ada_1","age":null,"favoriteColors":["red"]}"#)
        #expect(try User(checking: user.generableContent) == user)
        #expect(Color.redder.generableContent == "redder")
    }

    @Test func choiceAppearsWhenItIsComplete() {
        #expect(Color.Partial(partial: .unfinishedString("red")) == nil)
        #expect(Color.Partial(partial: .string("red"))?.value == .red)
        #expect(Color.Partial(partial: .string("pink")) == nil)
    }
}
