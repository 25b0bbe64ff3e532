import ChatterModels
import ChatterdTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct SessionTests {
    @Test func contextOfEarlierMessagesIsSent() async throws {
        let llm = ScriptedLLM(.text("Hello Alice!"), .text("Alice."))
        let session = llm.makeSession { "You are a helpful assistant. Always be polite." }
        _ = try await llm.reply(to: "Hello, my name is Alice", in: session)
        let followUp = try await llm.reply(to: "What's my name?", in: session)
        #expect(followUp.content == "Alice.")
        #expect(
            llm.requests.last?.transcript.map(\.text) == [
                "You are a helpful assistant. Always be polite.", "Hello, my name is Alice", "Hello Alice!",
                "What's my name?",
            ])
        #expect(followUp.history.map(\.role) == [.system, .user, .ai, .user, .ai])
        #expect(followUp.usage == Usage(promptTokens: 10, answerTokens: 2) && followUp.model == "m")
    }

    @Test func storedSessionContinues() async throws {
        let first = ScriptedLLM(.text("Hello Alice!"))
        let session = first.makeSession()
        _ = try await session.reply(to: "My name is Alice")
        let stored = try JSONEncoder().encode(await session.transcript)

        let second = ScriptedLLM(.text("Alice."))
        let restored = Session(model: second, transcript: try JSONDecoder().decode(Transcript.self, from: stored))
        _ = try await restored.reply(to: "What's my name?")
        #expect(
            second.requests.first?.transcript.map(\.text) == ["My name is Alice", "Hello Alice!", "What's my name?"])
    }

    /// A transcript as the library before 0.2 stored it.
    private static let oldTranscript =
        #"{"messages":[{"system":{"_0":{"chunks":[{"text":{"_0":"s"}}]}}},{"user":{"_0":{"chunks":[{"text":{"_0":"t"}},{"image":{"_0":{"base64":"aGk=","mediaType":"image\/png"}}}]}}},{"ai":{"_0":{"chunks":[{"toolCall":{"_0":{"id":"1","toolName":"f","arguments":"{\"z\":1}"}}}],"reasoning":"r","id":"i"}}},{"toolOutput":{"_0":{"id":"1","toolName":"f","chunks":[{"structured":{"_0":"true"}}],"isError":true}}}]}"#

    @Test func transcriptOfAnOlderVersionIsReadable() throws {
        let transcript = try JSONDecoder().decode(Transcript.self, from: Data(Self.oldTranscript.utf8))
        #expect(
            transcript.messages == [
                .system("s"), .user(UserMessage(Prompt(chunks: [.text("t"), .image(ImageContent(base64: "aGk="))]))),
                .ai(
                    AIMessage(
                        "", toolCalls: [ToolCall(id: "1", toolName: "f", arguments: ["z": 1])], reasoning: "r", id: "i")
                ),
                .toolOutput(ToolOutput(id: "1", toolName: "f", StructuredContent.bool(true), isError: true)),
            ])
    }

    @Test func storedTranscriptHasAVersionAndNamesOfItsOwn() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let old = try JSONDecoder().decode(Transcript.self, from: Data(Self.oldTranscript.utf8))
        #expect(
            String(decoding: try encoder.encode(old), as: UTF8.self)
                == #"{"messages":[{"chunks":[{"text":"s","type":"text"}],"role":"system"},{"chunks":[{"text":"t","type":"text"},{"base64":"aGk=","mediaType":"image/png","type":"image"}],"role":"user"},{"chunks":[{"arguments":"{\"z\":1}","id":"1","toolName":"f","type":"toolCall"}],"id":"i","reasoning":"r","role":"ai"},{"chunks":[{"json":"true","type":"structured"}],"id":"1","isError":true,"role":"toolOutput","toolName":"f"}],"version":1}"#
        )
    }

    @Test(arguments: [
        #"{"version":2,"messages":[]}"#, #"{"version":1,"messages":[{"role":"judge","chunks":[]}]}"#,
        #"{"version":1,"messages":[{"role":"user","chunks":[{"type":"smell"}]}]}"#,
    ]) func transcriptOfALaterVersionIsRefused(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Transcript.self, from: Data(text.utf8)) }
    }

    @Test func promptIsStored() throws {
        let prompt = Prompt(chunks: [.text("t"), .structured(["a": 1])])
        #expect(try JSONDecoder().decode(Prompt.self, from: JSONEncoder().encode(prompt)) == prompt)
    }

    @Test func eachKindOfMessageIsStored() throws {
        let transcript = Transcript(messages: [
            .system("s"), .user(UserMessage(Prompt(chunks: [.text("t"), .image(ImageContent(base64: "aGk="))]))),
            .ai(
                AIMessage(
                    "x", toolCalls: [ToolCall(id: "1", toolName: "f", arguments: ["z": 1, "a": [nil, 2.5]])],
                    reasoning: "r", id: "i")),
            .toolOutput(ToolOutput(id: "1", toolName: "f", StructuredContent.bool(true), isError: true)),
        ])
        let decoded = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(transcript))
        #expect(decoded == transcript)
    }

    @Test func failedReplyLeavesNoTrace() async throws {
        let llm = ScriptedLLM(scripts: [
            { _ in .of([.text("Ha")], error: .failed("broken")) }, { _ in .of(.text("Hi")) },
        ])
        let session = llm.makeSession()
        await #expect(throws: LLMError.failed("broken")) { try await session.reply(to: "Hello") }
        #expect(await session.transcript == Transcript())
        #expect(try await session.reply(to: "Hello").history.count == 2)
    }

    @Test func messageWithoutEndIsAnError() async {
        let session = ScriptedLLM([.text("Ha")]).makeSession()
        let error = await #expect(throws: LLMError.self) { try await session.reply(to: "Hello") }
        guard case .connectionLost? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func secondPromptAtTheSameTimeIsRefused() async throws {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: GenerationEvent.self)
        let session = ScriptedLLM(scripts: [{ _ in stream }]).makeSession()
        var events = session.events(replyingTo: "One").makeAsyncIterator()
        continuation.yield(.text("a"))
        _ = try await events.next()
        await #expect(throws: LLMError.busy) { try await session.reply(to: "Two") }
        continuation.yield(.finished(GenerationEnd(reason: .stop)))
        continuation.finish()
        while try await events.next() != nil {}
        #expect(await session.messages.count == 2)
    }

    @Test func readerWhoLeavesEndsTheReply() async throws {
        let llm = ScriptedLLM(scripts: [
            { _ in AsyncThrowingStream { $0.yield(.text("a")) } }, { _ in .of(.text("Hi")) },
        ])
        let session = llm.makeSession()
        for try await _ in session.events(replyingTo: "One") { break }
        // The session is free at once, without its prompt.
        #expect(try await session.reply(to: "Two").history.map(\.text) == ["Two", "Hi"])
    }

    @Test func streamThatAVariableKeepsEndsWithItsLoop() async throws {
        let llm = ScriptedLLM(scripts: [
            { _ in AsyncThrowingStream { $0.yield(.text("a")) } }, { _ in .of(.text("Hi")) },
        ])
        let session = llm.makeSession()
        let stream = session.replyStream(to: "One")
        for try await _ in stream { break }
        #expect(try await session.reply(to: "Two").history.map(\.text) == ["Two", "Hi"])
        // A stream is read once.
        for try await _ in stream { Issue.record("a second reply") }
        #expect(llm.requests.count == 2)
    }

    @Test func cancelledReplyThrows() async throws {
        let begun = Gate()
        let session = ScriptedLLM(scripts: [
            { _ in
                begun.open()
                return AsyncThrowingStream { _ in }
            }
        ]).makeSession()
        let task = Task { try await session.reply(to: "One") }
        _ = try await blocking { begun.wait() }
        task.cancel()
        await #expect(throws: LLMError.cancelled) { try await task.value }
        #expect(await session.messages.isEmpty)
    }

    @Test func transcriptCanBeObservedWhileItGrows() async throws {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: GenerationEvent.self)
        let session = ScriptedLLM(scripts: [{ _ in stream }]).makeSession()
        var transcripts = await session.transcripts().makeAsyncIterator()
        #expect(await transcripts.next() == Transcript())
        var events = session.events(replyingTo: "Hi").makeAsyncIterator()
        continuation.yield(.text("He"))
        _ = try await events.next()
        let growing = await transcripts.next()
        #expect(growing?.messages.map(\.text) == ["Hi"] && growing?.growing?.text == "He")
        continuation.yield(.text("llo"))
        continuation.yield(.finished(GenerationEnd(reason: .stop)))
        while try await events.next() != nil {}
        let whole = await transcripts.next()
        #expect(whole?.messages.map(\.text) == ["Hi", "Hello"] && whole?.growing == nil)
    }

    @Test func snapshotsOfATextGrow() async throws {
        var texts: [String] = []
        for try await text in ScriptedLLM(.text("Hello")).replyStream(to: "Hi") {
            texts.append(text)
        }
        #expect(texts == ["Hel", "Hello"])
    }

    @Test func snapshotsOfAValueHaveItsMembersSoFar() async throws {
        let json = #"{"title":"On Berlin","authors":"A","abstract":"x","keywords":["city","haiku"]}"#
        var last: PartialObject?
        var titles: Set<String> = []
        for try await paper in ScriptedLLM(.text(json, by: 1)).replyStream(to: "Hi", returning: ResearchPaper.self) {
            titles.insert(paper.member("title", as: String.self) ?? "none")
            last = paper
        }
        #expect(titles.count == 11 && titles.contains("On B"))
        #expect(last?.member("keywords", as: [String].self) == ["city", "haiku"])
    }

    @Test func bareValuesAreAnswers() async throws {
        let llm = ScriptedLLM(.text(#"{"value":[1,2,3]}"#, by: 1))
        #expect(try await llm.reply(to: "Count", returning: [Int].self).content == [1, 2, 3])
        #expect(llm.requests.first?.schema?.jsonSchema()["required"] == ["value"])
        var counts: [Int] = []
        for try await list in llm.replyStream(to: "Count", returning: [Int].self) where list.count != counts.last {
            counts.append(list.count)
        }
        #expect(counts == [0, 1, 2, 3])
        let color = ScriptedLLM(.text(#"{"value":"green"}"#))
        #expect(try await color.reply(to: "Which?", returning: Color.self).content == .green)
    }

    @Test func answerOfAnotherFormIsAnError() async throws {
        let llm = ScriptedLLM(
            .text(#"{"name":"1","favoriteColors":["red"]}"#), .text("Sorry!"), .text(#"{"name":"#, reason: .length))
        let violation = await #expect(throws: LLMError.self) { try await llm.reply(to: "Who?", returning: User.self) }
        guard case .schemaViolation(let places, _)? = violation else { throw LLMError.failed("\(violation as Any)") }
        #expect(places.map(\.path) == ["$.name"])
        let text = await #expect(throws: LLMError.self) { try await llm.reply(to: "Who?", returning: User.self) }
        guard case .notJSON(let fault, let answer)? = text else { throw LLMError.failed("\(text as Any)") }
        #expect(fault.offset == 0 && answer == "Sorry!")
        await #expect(throws: LLMError.incomplete(.length)) { try await llm.reply(to: "Who?", returning: User.self) }
    }

    @Test func resetBeginsTheMessageAgain() async throws {
        let llm = ScriptedLLM([.text("Half"), .reset, .text("New"), .finished(GenerationEnd(reason: .stop))])
        #expect(try await llm.reply(to: "Hi").content == "New")
    }
}
