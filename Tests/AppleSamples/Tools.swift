// 27 to 36 of the forty samples: tools, errors, transcripts, forms that are made at run time.
import ChatterLanguageModelSession
import Foundation

package struct BreadTool: Tool {
    package let name = "searchBread"
    package let description = "Searches recipes of bread."

    @Generable
    package struct Arguments {
        @Guide(description: "What to search for")
        var searchTerm: String
        @Guide(description: "How many recipes", .range(1...6))
        var limit: Int
    }

    package init() {}

    package func call(arguments: Arguments) async throws -> [String] {
        Array(["sourdough", "rye", "focaccia"].filter { $0.contains(arguments.searchTerm) }.prefix(arguments.limit))
    }
}

/// 27. A tool, and a session with it.
package func sample27() async throws -> String {
    let session = LanguageModelSession(tools: [BreadTool()], instructions: "Help with bread.")
    return try await session.respond(to: "Find three recipes of rye bread.").content
}

package struct WeatherTool: Tool {
    package let name = "getWeather"
    package let description = "Gets the weather of a city."

    @Generable
    package struct Arguments {
        @Guide(description: "The city")
        let city: String
    }

    package init() {}

    package func call(arguments: Arguments) async throws -> GeneratedContent {
        GeneratedContent(properties: ["temperature": 21, "sky": "clear over \(arguments.city)", "wind": [3.5, 4]])
    }
}

/// 28. Several tools; the output of one is an object.
package func sample28(model: SystemLanguageModel) -> LanguageModelSession {
    LanguageModelSession(model: model, tools: [BreadTool(), WeatherTool()]) {
        "You have tools for bread and weather."
    }
}

package actor CountingTool: Tool {
    nonisolated package let name = "next"
    nonisolated package let description = "Gives the next number."
    private var count = 0

    @Generable
    package struct Arguments {
        var step: Int
    }

    package init() {}

    package func call(arguments: Arguments) async throws -> String {
        count += arguments.step
        return "\(count)"
    }
}

package struct EmptyCellar: Error {
    package init() {}
}

/// 29. A tool with a state; an error of a tool.
package func sample29(session: LanguageModelSession) async -> String {
    do {
        return try await session.respond("How many?").content
    } catch let error as LanguageModelSession.ToolCallError {
        return error.underlyingError is EmptyCellar ? "\(error.tool.name) is empty" : error.localizedDescription
    } catch {
        return "\(error)"
    }
}

extension LanguageModelSession {
    fileprivate func respond(_ text: String) async throws -> Response<String> {
        try await respond(to: text)
    }
}

/// 30. A transcript that is too long: a new session with its beginning and its end.
package func sample30(session: LanguageModelSession, prompt: String) async throws -> LanguageModelSession {
    do {
        _ = try await session.respond(to: prompt)
        return session
    } catch LanguageModelSession.GenerationError.exceededContextWindowSize {
        let entries = session.transcript
        var kept: [Transcript.Entry] = []
        if let first = entries.first {
            kept.append(first)
            if entries.count > 1, let last = entries.last { kept.append(last) }
        }
        return LanguageModelSession(transcript: Transcript(entries: kept))
    }
}

/// 31. A model that declines, a filter, and other errors.
package func sample31(session: LanguageModelSession, prompt: String) async throws -> String {
    do {
        return try await session.respond(to: prompt).content
    } catch LanguageModelSession.GenerationError.guardrailViolation {
        return "Please ask something else."
    } catch LanguageModelSession.GenerationError.refusal(let refusal, _) {
        return try await refusal.explanation.content
    } catch let error as LanguageModelSession.GenerationError {
        switch error {
        case .rateLimited(let context), .decodingFailure(let context): return context.debugDescription
        case .concurrentRequests, .assetsUnavailable: return error.errorDescription ?? ""
        default: return error.localizedDescription
        }
    }
}

/// 32. What was said.
package func sample32(session: LanguageModelSession) -> [String] {
    session.transcript.map { entry in
        switch entry {
        case .instructions(let instructions): "instructions: \(instructions.segments.count)"
        case .prompt(let prompt): "prompt: \(prompt.segments.map(\.description).joined())"
        case .toolCalls(let calls):
            "calls: \(calls.map { "\($0.toolName) \($0.arguments.jsonString)" }.joined(separator: ", "))"
        case .toolOutput(let output): "output of \(output.toolName)"
        case .response(let response):
            response.segments.map { segment in
                switch segment {
                case .text(let text): text.content
                case .structure(let structure): structure.content.jsonString
                }
            }.joined()
        }
    }
}

/// 33. A transcript is stored and restored.
package func sample33(session: LanguageModelSession) throws -> LanguageModelSession {
    let data = try JSONEncoder().encode(session.transcript)
    let transcript = try JSONDecoder().decode(Transcript.self, from: data)
    return LanguageModelSession(tools: [BreadTool()], transcript: transcript)
}

/// 34. A form that is made at run time.
package func sample34(session: LanguageModelSession, soups: [String]) async throws -> (String, Int?) {
    let menu = DynamicGenerationSchema(
        name: "Menu",
        properties: [
            DynamicGenerationSchema.Property(
                name: "dailySoup", description: "The soup of today",
                schema: DynamicGenerationSchema(name: "Soup", anyOf: soups)),
            DynamicGenerationSchema.Property(
                name: "price", schema: DynamicGenerationSchema(type: Int.self), isOptional: true),
        ])
    let schema = try GenerationSchema(root: menu, dependencies: [])
    let response = try await session.respond(to: "What is for lunch?", schema: schema)
    let soup = try response.content.value(String.self, forProperty: "dailySoup")
    return (soup, try response.content.value(Int?.self, forProperty: "price"))
}

/// 35. Forms that refer to others.
package func sample35(session: LanguageModelSession, show: (String) -> Void) async throws {
    let dish = DynamicGenerationSchema(
        name: "Dish",
        properties: [
            .init(name: "name", schema: .init(type: String.self, guides: [.pattern(/[A-Z].*/)])),
            .init(name: "spicy", schema: .init(type: Bool.self)),
        ])
    let list = DynamicGenerationSchema(
        name: "List",
        properties: [
            .init(
                name: "dishes",
                schema: .init(arrayOf: .init(referenceTo: "Dish"), minimumElements: 1, maximumElements: 3))
        ])
    let schema = try GenerationSchema(root: list, dependencies: [dish])
    for try await partial in session.streamResponse(to: "Cook.", schema: schema) {
        show(partial.content.jsonString)
    }
}

/// 36. A form whose members are listed.
package func sample36() -> GenerationSchema {
    GenerationSchema(
        type: Hotel.self, description: "A hotel",
        properties: [
            .init(name: "name", description: "A short name", type: String.self),
            .init(name: "stars", type: Int.self, guides: [.range(1...5)]),
            .init(name: "phone", type: String?.self),
        ])
}
