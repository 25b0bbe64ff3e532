import ChatterMacros
import Testing

struct MacroTests {
    @Test func formHasPropertiesWithTheirConditions() {
        #expect(
            User.schema
                == Schema.object("User", description: "A user of the app") {
                    Property("name", String.self, description: "Username", .pattern(#"^[a-zA-Z]\w{2,}$"#))
                    Property("age", Int?.self, description: "User age", .minimum(18))
                    Property(
                        "favoriteColors", [String].self, description: "User's favorite colors", .minimumCount(1),
                        .maximumCount(3), .element(.anyOf("red", "green", "blue")))
                })
    }

    @Test func propertiesOfAllKindsAreRead() {
        #expect(
            Journey.schema
                == Schema.object("Journey") {
                    Property("class", Comfort.self)
                    Property("stops", [Journey.Stop].self)
                    Property("alternative", Journey.Stop?.self)
                    Property("isOpen", Bool.self)
                    Property("discount", Double?.self, .range(0...0.5))
                    Property("names", [String?].self)
                })
        #expect(
            Journey.Stop.schema
                == Schema.object("Stop") {
                    Property("city", String.self)
                    Property("nights", Int.self, .range(1...30))
                    Property("position", [Double]?.self)
                })
    }

    @Test func valueIsReadAndWritten() throws {
        let json =
            #"{"class":"default","stops":[{"city":"Rome","nights":2,"position":[41.9,12.5]}],"alternative":null,"isOpen":true,"discount":0.5,"names":["a",null]}"#
        let journey = try Journey(checking: StructuredContent(json: json))
        #expect(journey.class == .default && journey.stops[0].position == [41.9, 12.5] && journey.alternative == nil)
        #expect(journey.isOpen && journey.discount == 0.5 && journey.names == ["a", nil] && journey.version == 1)
        #expect(journey.generableContent.json == json)
        let error = #expect(throws: LLMError.self) {
            try Journey.Stop(checking: ["city": "Rome", "nights": 31, "position": nil])
        }
        #expect(error?.message.contains("$.nights is greater than 30") == true)
    }

    @Test func typesBesideANestedTypeAreFound() throws {
        let entry = Contacts.Entry(
            kind: .person, others: [.company], last: nil, reach: .mail(address: "a", kind: .person))
        let json =
            #"{"kind":"person","others":["company"],"last":null,"reach":{"type":"mail","address":"a","kind":"person"}}"#
        #expect(entry.generableContent.json == json)
        #expect(try Contacts.Entry(checking: StructuredContent(json: json)) == entry)
        let partial = Contacts.Entry.Partial(partial: try StructuredContent(json: #"{"kind":"company"}"#))
        #expect(partial?.kind?.value == .company && partial?.others == nil)
    }

    @Test func partialValueHasTypedProperties() throws {
        func partial(_ json: String) throws -> Journey.Partial? {
            var parser = IncrementalJSON()
            try parser.receive(json.utf8)
            return parser.value.flatMap { Journey.Partial(partial: $0) }
        }
        #expect(try partial("") == nil)
        let first = try #require(try partial(#"{"class":"def"#))
        #expect(first.class == nil && first.stops == nil && first.isOpen == nil)
        let second = try #require(try partial(#"{"class":"default","stops":[{"city":"Ro"#))
        #expect(second.class?.value == .default && second.stops?.first?.city == "Ro" && second.stops?[0].nights == nil)
        let third = try #require(try partial(#"{"stops":[{"city":"Rome","nights":2,"position":[1.5,2"#))
        #expect(third.stops?.first?.nights == 2 && third.stops?.first?.position == [1.5])
    }

    @Test func enumerationIsAChoice() throws {
        #expect(Comfort.schema == .choice("Comfort", of: ["first", "default", "standing"]))
        #expect(Level.schema == .choice("Level", of: ["low", "HIGH \"5\""]))
        #expect(try Level(checking: "HIGH \"5\"") == .high && Level.high.generableContent == "HIGH \"5\"")
        #expect(throws: LLMError.self) { try Level(checking: "high") }
        #expect(throws: SchemaViolation.self) { try Comfort(from: "second") }
    }

    @Test(arguments: [
        (Step.wait, #"{"type":"wait"}"#), (.walk(minutes: 5, to: nil), #"{"type":"walk","minutes":5,"to":null}"#),
        (.say("Hi"), #"{"type":"say","value":"Hi"}"#), (.both(3), #"{"type":"both","value":3}"#),
        (.all(comforts: [.first], rest: 1.5), #"{"type":"all","comforts":["first"],"rest":1.5}"#),
    ]) func caseWithValuesIsAnObject(_ step: Step, _ json: String) throws {
        #expect(step.generableContent.json == json)
        #expect(try Step(checking: StructuredContent(json: json)) == step)
        #expect(throws: LLMError.self) { try Step(checking: ["type": "run"]) }
    }

    @Test func partialCaseAppearsWithItsName() throws {
        var parser = IncrementalJSON()
        try parser.receive(#"{"type":"wal"#.utf8)
        #expect(parser.value.flatMap { Step.Partial(partial: $0) } == nil)
        try parser.receive(#"k","minutes":5,"to":"Ro"#.utf8)
        guard case .walk(minutes: 5, to: "Ro")? = parser.value.flatMap({ Step.Partial(partial: $0) }) else {
            Issue.record("\(String(describing: parser.value))")
            return
        }
    }

    @Test func genericAndEmptyTypesAreGenerable() throws {
        let pair = try Pair<Int, Bool>(checking: ["first": 1, "second": [true]])
        #expect(pair.first == 1 && pair.second == [true])
        #expect(try Empty(checking: [:]) == Empty() && Empty.schema == .object("Empty") {})
        #expect(try Pair<Int, Int>.Place(checking: ["x": 1]).x == 1)
    }

    @Test func isolatedTypeIsGenerableAnywhere() throws {
        let screen = try Screen(checking: ["title": "A", "levels": ["low"]])
        #expect(screen.generableContent.json == #"{"title":"A","levels":["low"]}"#)
    }
}
