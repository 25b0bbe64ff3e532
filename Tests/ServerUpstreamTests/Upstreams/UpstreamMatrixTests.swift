import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Every behaviour of a model server, by the bytes of the client and by the rows.
@Suite(.timeLimit(.minutes(30))) struct UpstreamMatrixTests {
    /// Sent at once, so that no silence timeout passes meanwhile.
    private let recovery = [UpstreamStep].plain(
        200, ModelLine.token("recovered") + ModelLine.done(), type: "application/x-ndjson")

    @Test(arguments: Misbehaviour.all)
    func eachAnswerHasAnEndAndItsRows(_ row: Misbehaviour) async throws {
        try await onThread {
            let upstream = try ScriptedUpstream { request in
                guard request.messages.last?.last != "again" else { return recovery }
                if case .script(let steps) = row.peer { return steps }
                return []
            }
            let port = try boundPort(row.peer)
            let stage = try Stage(upstream: address(row.peer, port, upstream), environment: row.environment)
            defer { #expect(throws: Never.self) { try stage.stop() } }

            let transcript = Transcript(try stage.chat("streamed", "prompt"))
            transcript.check()
            #expect(transcript.outcome == row.outcome, "\(transcript.error)")
            #expect(transcript.text == row.text)
            if let lines = row.lines { #expect(transcript.lines.map(\.withoutTimings) == lines) }
            if let words = row.words { #expect(transcript.words.contains(words)) }
            #expect(!transcript.words.contains("<"), "a page of the model server reached the client")
            #expect(try stage.rows("streamed").map(\.summary) == rows(of: row))

            try checkUnstreamed(row, stage)
            if case .script = row.peer { try checkRecovery(row, stage, upstream) }
        }
    }

    /// The same without streaming: a status instead of the error event.
    private func checkUnstreamed(_ row: Misbehaviour, _ stage: Stage) throws {
        let answer = try stage.chat("whole", "prompt", stream: false)
        #expect(answer.end == .complete)
        switch row.outcome {
        case .error(let code):
            #expect(answer.status >= 400 && answer.status < 600)
            #expect(answer.json["code"] as? String == code)
            #expect((answer.json["error"] as? String)?.isEmpty == false)
        default:
            #expect(answer.status == 200)
            #expect((answer.json["message"] as? [String: Any])?["content"] as? String == row.text)
            #expect(answer.json["done"] as? Bool == true)
            #expect(answer.json["created_at"] is String && answer.json["model"] as? String == "tiny")
        }
        #expect(try stage.rows("whole").map(\.summary) == rows(of: row))
    }

    /// The next prompt is answered, and the model gets the turn before it, unless that has no answer.
    private func checkRecovery(_ row: Misbehaviour, _ stage: Stage, _ upstream: ScriptedUpstream) throws {
        // If a limit is so short that the good answer might miss it, another process answers.
        let otherStage =
            row.environment.isEmpty ? nil : try stage.startAnother(upstream: upstream.url, environment: [:])
        defer { #expect(throws: Never.self) { try otherStage?.stop() } }
        let next = Transcript(try (otherStage ?? stage).chat("streamed", "again"))
        next.check()
        #expect(next.text == "recovered")
        let isReplayed = row.outcome == .done || !row.text.isEmpty
        let before = isReplayed ? [["user", "prompt"], ["assistant", row.text]] : []
        #expect(upstream.requests.last?.messages == before + [["user", "again"]])
    }

    private func rows(of row: Misbehaviour) -> [[String]] {
        [["user", "prompt"], ["assistant", row.text, row.outcome == .done ? "complete" : "failed"]]
    }
}

private func boundPort(_ peer: Misbehaviour.Peer) throws -> BoundPort? {
    switch peer {
    case .refusing: try .refusing()
    case .hanging: try .hanging()
    case .silent: try .silent()
    case .script, .address: nil
    }
}

private func address(_ peer: Misbehaviour.Peer, _ port: BoundPort?, _ upstream: ScriptedUpstream) -> String {
    if case .address(let url) = peer { return url }
    return port?.url ?? upstream.url
}
