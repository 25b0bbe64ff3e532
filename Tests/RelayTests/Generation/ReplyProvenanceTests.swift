import ChatterdBasics
import ChatterdChat
import Foundation
import Testing

@testable import ChatterdRelay

@Suite(.timeLimit(.minutes(30))) struct ReplyProvenanceTests {
    private func json(_ provenance: ReplyProvenance) -> String {
        var buffer = ByteBuffer()
        buffer.append(provenance)
        return buffer.string
    }

    @Test func emptyProvenanceHasNoMembers() {
        #expect(json(ReplyProvenance()).isEmpty)
    }

    @Test func allKnownMembersAreWritten() throws {
        var provenance = ReplyProvenance()
        provenance.parts = [
            ReplyProvenance.Part(upstream: "gpu1", model: "llama3.2", text: 0..<812),
            ReplyProvenance.Part(upstream: "g\"2", model: "ö", text: 812..<900),
        ]
        var report = PromptReport()
        report.messages = 12
        report.sent = [1...7, 12...16]
        report.omitted = [
            PromptReport.Omitted(numbers: 8...11, why: .context),
            PromptReport.Omitted(numbers: 17...17, why: .notComplete),
        ]
        report.contextLength = 4096
        report.estimatedTokens = 812
        report.promptTokens = 790
        provenance.report = report
        let expected = """
            "parts":[{"upstream":"gpu1","model":"llama3.2","from":0,"to":812},{"upstream":"g\\"2","model":"ö","from":812,"to":900}],\
            "receipt":{"messages":12,"sent":[[1,7],[12,16]],"left_out":[{"from":8,"to":11,"why":"context"},\
            {"from":17,"to":17,"why":"not_complete"}],"context":4096,"estimated_tokens":812,"prompt_tokens":790,\
            "cut_by_server":false}
            """
        #expect(json(provenance) == expected)
        #expect((try JSONSerialization.jsonObject(with: Data("{\(expected)}".utf8)) as? [String: Any])?.count == 2)
    }

    @Test func unknownMembersAreOmitted() {
        var provenance = ReplyProvenance()
        provenance.report = PromptReport()
        #expect(json(provenance) == #""receipt":{"messages":0}"#)
        provenance.report?.isAbridged = true
        provenance.report?.promptTokens = 3
        provenance.report?.isCutByServer = true
        let expected =
            #""receipt":{"messages":0,"abridged":true,"prompt_tokens":3,"cut_by_server":true}"#
        #expect(json(provenance) == expected)
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1,"ttft_ms":7,"queue_ms":0,"attempts":1}"#),
        (#" { "a" : [1, 2] , "b":"}" } "#, #"{"a":[1, 2],"b":"}","ttft_ms":7,"queue_ms":0,"attempts":1}"#),
        // A model server that is a chatterd has its own.
        (#"{"ttft_ms":9,"a":1,"attempts":{"x":1}}"#, #"{"a":1,"ttft_ms":7,"queue_ms":0,"attempts":1}"#),
        (#"{"att\u0065mpts":9}"#, #"{"ttft_ms":7,"queue_ms":0,"attempts":1}"#),
        ("{}", #"{"ttft_ms":7,"queue_ms":0,"attempts":1}"#),
    ])
    func timingsAreMembersOfTheLastEvent(event: String, expected: String) {
        let timings = ReplyTimings(timeToFirstToken: .milliseconds(7), attempts: 1)
        #expect(String(decoding: timings.added(to: Array(event.utf8)), as: UTF8.self) == expected)
    }
}
