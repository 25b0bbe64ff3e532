import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterModels

/// The decoders of answers, without I/O.
struct SplitTests {
    private func events(_ peer: WirePeer, _ pieces: [[UInt8]]) throws(LLMError) -> [GenerationEvent] {
        switch peer {
        case .ollama: try read(OllamaAnswer(callPrefix: "c"), pieces)
        case .openAI: try read(OpenAIAnswer(callPrefix: "c"), pieces)
        case .openResponses: try read(OpenResponsesAnswer(callPrefix: "c"), pieces)
        case .llamaStack: try read(LlamaStackAnswer(callPrefix: "c"), pieces)
        }
    }

    private func read(_ decoder: some AnswerDecoder, _ pieces: [[UInt8]]) throws(LLMError) -> [GenerationEvent] {
        var decoder = decoder
        var events: ArraySlice<GenerationEvent> = []
        for piece in pieces where !decoder.isOver {
            try decoder.receive(piece.span, &events)
        }
        if !decoder.isOver { try decoder.end(&events) }
        return Array(events)
    }

    @Test(arguments: WirePeer.allCases) func answerIsTheSameAtEachSplit(_ peer: WirePeer) throws {
        for pieces in [peer.answer(["Hé", "😀\n"], thinking: "x"), peer.call] {
            let bytes = Array(pieces.joined().utf8)
            let whole = try events(peer, [bytes])
            #expect(whole.count >= 2)
            for split in 0...bytes.count
            where try events(peer, [Array(bytes[..<split]), Array(bytes[split...])]) != whole {
                Issue.record("\(peer) at \(split)")
            }
            #expect(try events(peer, bytes.map { [$0] }) == whole)
        }
    }

    @Test func callsInPiecesAreJoinedByTheirIndex() throws {
        let pieces = [
            #"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{\"x\":"}},{"index":1,"function":{"name":"b","arguments":""}}]}}]}"#,
            #"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"[not"}},{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
        ].map { Array("data: \($0)\n\n".utf8) }
        #expect(
            try events(.openAI, pieces) == [
                .toolCall(ToolCall(id: "c1", toolName: "a", arguments: ["x": 1])),
                .toolCall(ToolCall(id: "c2", toolName: "b", arguments: "[not")),
                .finished(GenerationEnd(reason: .toolCalls)),
            ])
    }

    @Test(arguments: PeerNumber.all) func countOutOfBoundsIsNotGiven(_ number: PeerNumber) throws {
        for peer in WirePeer.allCases {
            let text = peer.answer(["a"]).joined().replacing(/(tokens|count)":[57]/) { "\($0.1)\":\(number.text)" }
                .replacing(/"value":[57]/, with: "\"value\":\(number.text)")
            // A number that no `Double` has makes the text unreadable.
            guard Double(number.text)?.isInfinite != true else {
                #expect(throws: LLMError.self) { try events(peer, [Array(text.utf8)]) }
                continue
            }
            guard case .finished(let end)? = try events(peer, [Array(text.utf8)]).last else {
                Issue.record("\(peer) has no end")
                continue
            }
            #expect(end.usage == number.count.map { Usage(promptTokens: $0, answerTokens: $0) }, "\(peer)")
        }
    }

    @Test func countsThatOverflowAreNotAdded() {
        let usage = Usage(promptTokens: .max, answerTokens: 1)
        #expect(usage + usage == Usage(promptTokens: .max, answerTokens: 2))
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "-1"])
    func callWithAnyIndexHasAnID(_ index: String) throws {
        let piece =
            #"{"choices":[{"delta":{"tool_calls":[{"index":\#(index),"function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#
        #expect(
            try events(.openAI, [Array("data: \(piece)\n\n".utf8)]) == [
                .toolCall(ToolCall(id: "c1", toolName: "a", arguments: [:])),
                .finished(GenerationEnd(reason: .toolCalls)),
            ])
    }

    @Test func refusalIsAnError() {
        let chat = [
            #"{"choices":[{"delta":{"refusal":"I can"}}]}"#,
            #"{"choices":[{"delta":{"refusal":"not."},"finish_reason":"stop"}]}"#,
        ].map { Array("data: \($0)\n\n".utf8) }
        #expect(throws: LLMError.refused("I cannot.")) { try events(.openAI, chat) }
        let responses = [
            #"{"type":"response.refusal.delta","delta":"No."}"#, #"{"type":"response.completed","response":{}}"#,
        ].map { Array("data: \($0)\n\n".utf8) }
        #expect(throws: LLMError.refused("No.")) { try events(.openResponses, responses) }
    }

    @Test(arguments: WirePeer.allCases) func bytesThatAreNotOfTheProtocolAreRefused(_ peer: WirePeer) {
        let bytes = Array((peer == .ollama ? "<html>\n" : "data: <html>\n\n").utf8)
        let error = #expect(throws: LLMError.self) { try events(peer, [bytes]) }
        guard case .malformed? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
