import Foundation
import Testing

@testable import ChatterClient

struct ChatterErrorTests {
    private func error(_ status: Int, _ body: String, retryAfter: Int? = nil) -> ChatterError {
        ChatterError(status: status, retryAfter: retryAfter, body: Array(body.utf8))
    }

    @Test func eachCodeOfTheServerHasACase() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        let text = try String(contentsOfFile: root + "/docs/api.md", encoding: .utf8)
        let rows = text.matches(of: /\n\| `([a-z_]+)` \| (\d+) \| (yes|no) \|/)
        #expect(rows.count > 30)
        for row in rows where row.1 != "cancelled" {
            let error = error(Int(row.2) ?? 0, #"{"error":"text","code":"\#(row.1)"}"#)
            #expect(error.code == row.1 && error.message == "text")
            #expect(error.isRetryable == (row.3 == "yes"), "\(row.1)")
            // The case does not depend on the status: an event has none.
            let event = ChatterError(event: ErrorBody(error: "text", code: String(row.1), retryable: nil, reply: nil))
            #expect(
                "\(error)" == "\(event)"
                    && Mirror(reflecting: error).children.first?.label
                        == Mirror(reflecting: event).children.first?.label,
                "\(row.1)")
        }
    }

    @Test func responsesOfOthersAreRecognizedByTheirStatus() {
        #expect(error(502, "<html>").isPassing)
        #expect(error(502, "<html>").code == "http_502")
        guard case .unauthorized = error(403, ""), case .rejected = error(413, "x"), case .busy = error(429, "{}")
        else {
            Issue.record("another case")
            return
        }
    }

    /// What another server at the address answers: Ollama, a page of HTML, a redirection.
    @Test(arguments: [
        (404, #"{"error":"no such path"}"#), (404, "404 page not found"), (405, "<html>"), (501, "<html>"), (301, ""),
    ]) func answerOfAnotherServerIsMalformed(_ status: Int, _ body: String) {
        let error = error(status, body)
        guard case .malformed(let text) = error else {
            Issue.record("another case")
            return
        }
        #expect(text.contains("probably no chatterd") && text.contains("\(status)") && !error.isRetryable)
        #expect(text.hasSuffix("no such path") == body.contains("no such path"))
    }

    @Test func systemShowsTheSentencesOfErrors() {
        let errors: [any Error] = [
            ChatterError.unreachable("No network."),
            ServerError(code: "internal", message: "No network.", isRetryable: true),
        ]
        #expect(errors.map(\.localizedDescription) == ["No network.", "No network."])
    }

    @Test func busyConversationNamesItsReply() {
        let body = #"{"error":"Busy.","code":"conversation_busy","reply":"abc","location":"/replies/abc"}"#
        guard case .busy(let server) = error(409, body, retryAfter: 12) else {
            Issue.record("another case")
            return
        }
        #expect(server.reply == ReplyID("abc") && server.retryAfter == .seconds(12) && server.isRetryable)
    }

    @Test(
        arguments: [(12, .seconds(12)), (0, .zero), (.max, .seconds(86_400)), (-1, nil), (.min, nil)]
            as [(Int, Duration?)])
    func delayOfTheServerIsADayAtMost(_ seconds: Int, _ delay: Duration?) {
        guard case .busy(let server) = error(429, #"{"error":"Busy.","code":"overloaded"}"#, retryAfter: seconds) else {
            Issue.record("another case")
            return
        }
        #expect(server.retryAfter == delay)
    }

    @Test(arguments: ["ftp://h", "h", "http://", "http://u:p@h", "http://h:99999"])
    func addressThatIsNoURLIsRefused(_ url: String) {
        let error = #expect(throws: ChatterError.self) { try ChatterClient(url: url, credential: .app("me")) }
        #expect(error?.code == "invalid_url")
    }
}
