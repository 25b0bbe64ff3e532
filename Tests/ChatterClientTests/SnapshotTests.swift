import ChatterdHTTP
import Foundation
import Testing

@testable import ChatterClient

/// Answers as growing snapshots.
@Suite(.timeLimit(.minutes(30))) struct SnapshotTests {
    private func read(
        _ snapshots: AsyncThrowingStream<Answer, any Error>
    ) async -> (answers: [Answer], error: ChatterError?) {
        var answers: [Answer] = []
        do {
            for try await answer in snapshots {
                answers.append(answer)
            }
        } catch {
            return (answers, error as? ChatterError)
        }
        return (answers, nil)
    }

    @Test func snapshotsHaveAllTextSoFar() async {
        let server = ScriptedServer(
            .response(
                200, location: "/replies/a",
                [
                    textEvent("2", "He"), textEvent("5", "llo") + textEvent("9", " you"),
                    textEvent("9-end", "", done: true),
                ]))
        let (answers, error) = await read(server.client().snapshots(of: Prompt("Hi")))
        #expect(error == nil)
        #expect(answers.map(\.text) == ["", "He", "Hello you", "Hello you"])
        #expect(answers.map(\.reply) == [ReplyID("a"), ReplyID("a"), ReplyID("a"), ReplyID("a")])
        #expect(answers.map(\.isFinished) == [false, false, false, true])
        #expect(answers.last?.end?.answerTokens == 5)
    }

    @Test func lostConnectionIsShownAndForgotten() async {
        let server = ScriptedServer(
            .response(200, location: "/replies/a", [textEvent("2", "He")]),
            .response(200, [textEvent("5-end", "llo", done: true)]))
        let (answers, error) = await read(server.client().snapshots(of: Prompt("Hi")))
        #expect(error == nil)
        #expect(answers.map { $0.interruption?.code } == [nil, nil, "connection_lost", nil, nil])
        #expect(answers.last?.text == "Hello")
    }

    @Test func textBeforeAnErrorIsInTheLastSnapshot() async {
        let server = ScriptedServer(
            .response(200, location: "/replies/a", [textEvent("2", "He") + errorEvent("2-end", "upstream_error")]))
        let (answers, error) = await read(server.client().snapshots(of: Prompt("Hi")))
        #expect(answers.last?.text == "He" && error?.code == "upstream_error")
        #expect(server.requests.count == 1)
    }

    @Test func answerThatBeginsAgainHasTheNextAttempt() async {
        let reset = "id: 2~0\nevent: reset\ndata: {\"reset\":true,\"message\":{\"content\":\"…\"},\"done\":false}\n\n"
        let server = ScriptedServer(
            .response(
                200, location: "/replies/a", [textEvent("4", "Half"), reset, textEvent("2~3-end", "New", done: true)]))
        let (answers, _) = await read(server.client().snapshots(of: Prompt("Hi")))
        #expect(answers.map(\.text) == ["", "Half", "", "New"])
        #expect(answers.map(\.attempt) == [1, 1, 2, 2])
    }

    @Test func storedAnswerContinuesAfterItsLastEvent() async throws {
        let first = ScriptedServer(.response(200, location: "/replies/a", [textEvent("2", "He")]))
        let (answers, _) = await read(first.client(resumption: .zero).snapshots(of: Prompt("Hi")))
        let stored = try JSONEncoder().encode(answers.last)
        let answer = try JSONDecoder().decode(Answer.self, from: stored)
        #expect(answer.text == "He" && answer.interruption == nil)

        let second = ScriptedServer(.response(200, [textEvent("5", "llo") + textEvent("5-end", "", done: true)]))
        let (rest, error) = await read(second.client().snapshots(continuing: answer))
        #expect(error == nil && rest.map(\.text) == ["Hello"])
        #expect(second.requests.map(\.path) == ["/replies/a"])
        #expect(second.requests.first?.fields[.lastEventID] == "2")
    }

    @Test func answerWithoutReplyCannotBeContinued() async {
        let (answers, error) = await read(ScriptedServer().client().snapshots(continuing: Answer()))
        #expect(answers.isEmpty && error?.code == "malformed")
    }

    @Test func wholeAnswerIsTheLastSnapshot() async throws {
        let server = ScriptedServer(
            .response(200, location: "/replies/a", [textEvent("2", "He"), textEvent("5-end", "llo", done: true)]))
        #expect(try await server.client().wholeAnswer(to: Prompt("Hi")).text == "Hello")
        await #expect(throws: ChatterError.unreachable("the script is over")) {
            try await server.client(start: .zero).wholeAnswer(to: Prompt("Hi"))
        }
    }
}
