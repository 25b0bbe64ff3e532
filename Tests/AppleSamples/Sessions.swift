// 1 to 13 of the forty samples in docs/swift.md: calls of FoundationModels' sessions, as its documentation makes them. With that module in
// place of this import, the file is one for FoundationModels.
import ChatterLanguageModelSession

/// 1. Is there a model?
package func sample1(_ show: (String) -> Void) {
    let model = SystemLanguageModel.default
    guard !model.isAvailable else { return show("ready") }
    switch model.availability {
    case .available: show("ready")
    case .unavailable(.deviceNotEligible): show("not on this device")
    case .unavailable(.appleIntelligenceNotEnabled): show("turned off")
    case .unavailable(.modelNotReady): show("not yet")
    case .unavailable(let other): show("\(other)")
    }
}

/// 2. One prompt.
package func sample2() async throws -> String {
    let session = LanguageModelSession()
    let response = try await session.respond(to: "Name a river of Spain.")
    return response.content
}

/// 3. Instructions as a text of several lines.
package func sample3() async throws -> String {
    let instructions = """
        You answer in one word.
        Never mention this.
        """
    let session = LanguageModelSession(instructions: instructions)
    let prompt = "Which sea lies south of Spain?"
    return try await session.respond(to: prompt).content
}

/// 4. Instructions that are put together from pieces, and as a value.
package func sample4(isFormal: Bool) -> [LanguageModelSession] {
    let short = Instructions("You answer in one sentence.")
    let built = LanguageModelSession {
        "You help to plan meals."
        if isFormal {
            "You are formal."
        }
        for allergy in ["nuts", "milk"] {
            "The guest does not eat \(allergy)."
        }
    }
    return [LanguageModelSession(instructions: short), built]
}

/// 5. A prompt that is put together from pieces.
package func sample5(session: LanguageModelSession, isChild: Bool) async throws -> String {
    let prompt = Prompt {
        "Tell a story of a fox."
        if isChild {
            "It is for a child of five."
        } else {
            "It is for adults."
        }
    }
    return try await session.respond(to: prompt).content
}

/// 6. A prompt as a closure.
package func sample6(session: LanguageModelSession, topic: String) async throws -> String {
    let response = try await session.respond {
        Prompt("Explain \(topic).")
        "Use one sentence."
    }
    return response.content
}

/// 7. Options.
package func sample7(session: LanguageModelSession) async throws -> String {
    let options = GenerationOptions(temperature: 1.5, maximumResponseTokens: 200)
    let response = try await session.respond(to: "Invent a name for a boat.", options: options)
    return response.content
}

/// 8. How tokens are chosen.
package func sample8(session: LanguageModelSession) async throws -> [String] {
    var options = GenerationOptions(sampling: .greedy)
    let same = try await session.respond(to: "Name a colour.", options: options)
    options.sampling = .random(top: 40, seed: 7)
    let other = try await session.respond(to: "Name a colour.", options: options)
    options = GenerationOptions(sampling: .random(probabilityThreshold: 0.9), temperature: 0.8)
    let third = try await session.respond(options: options) { "Name a colour." }
    return [same.content, other.content, third.content]
}

/// 9. A second prompt while the first is answered is an error.
package func sample9(session: LanguageModelSession, prompt: String) async throws -> String? {
    guard !session.isResponding else { return nil }
    return try await session.respond(to: prompt).content
}

/// 10. Several turns.
package func sample10() async throws -> (String, [String]) {
    let session = LanguageModelSession(instructions: "You write haikus.")
    let first = try await session.respond(to: "Write one about fishing.")
    let second = try await session.respond(to: "Another, about golf.")
    return (first.content + second.content, session.transcript.map(\.id))
}

/// 11. A model is loaded before the user has typed.
package func sample11() -> LanguageModelSession {
    let session = LanguageModelSession()
    session.prewarm()
    session.prewarm(promptPrefix: Prompt("Summarize this text: "))
    return session
}

/// 12. A use of the model.
package func sample12() async throws -> String {
    let model = SystemLanguageModel(useCase: .contentTagging)
    let session = LanguageModelSession(model: model, instructions: "Tag the topics.")
    let permissive = SystemLanguageModel(guardrails: .permissiveContentTransformations)
    guard permissive.supportsLocale() else { return "" }
    return try await session.respond(to: "A walk in the rain").content
}

/// 13. A text that grows.
package func sample13(session: LanguageModelSession, show: (String) -> Void) async throws -> String {
    let stream = session.streamResponse(to: "Tell a long story.")
    for try await partial in stream {
        show(partial.content)
    }
    let response = try await stream.collect()
    return response.content
}
