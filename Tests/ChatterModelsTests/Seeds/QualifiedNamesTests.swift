import ChatterModels
import ChatterdMirrorModels
import Testing

/// A type of both modules' protocols.
private struct City: ChatterModels.Generable, ChatterdMirrorModels.Generable {
    let name: String

    static let generationSchema = "City"
    static let schema = Schema.object("City") {
        Property("name", String.self)
    }

    init(from content: StructuredContent) throws {
        name = try content.member("name")
    }

    var generableContent: StructuredContent { ["name": .string(name)] }
}

private struct Lookup: ChatterModels.Tool, ChatterdMirrorModels.Tool {
    let name = "lookup"
    let description = "Finds a city"

    func call(arguments: City) async throws -> String { arguments.name }
}

/// Names that another module has too are resolved by their module.
@Suite(.timeLimit(.minutes(30))) struct QualifiedNamesTests {
    @Test func namesOfBothModulesAreUsedTogether() async throws {
        let session = EchoLLM().makeSession(tools: [Lookup()])
        let city = try await session.reply(to: #"{"name":"Berlin"}"#, returning: City.self).content
        #expect(city.name == "Berlin" && City.generationSchema == "City")
        let transcript: ChatterModels.Transcript = await session.transcript
        let prompt = ChatterModels.Prompt { "a" }
        #expect(transcript.messages.count == 2 && prompt.chunks.count == 1)
        #expect(ChatterdMirrorModels.Prompt("b").text == "b")
        _ = ChatterdMirrorModels.Transcript()
    }
}
