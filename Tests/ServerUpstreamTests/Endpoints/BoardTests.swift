import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The limits of a posting, and of one list of the board.
@Suite(.timeLimit(.minutes(30))) struct BoardTests {
    private func list(_ stage: Stage) throws -> [[String]] {
        let answer = try RawClient.get(port: stage.port, "/getchatts")
        #expect(answer.status == 200)
        return try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String]] ?? []
    }

    private func post(_ stage: Stage, name: String, message: String) throws -> HTTPExchange {
        try RawClient.post(
            port: stage.port, "/postchatt",
            json: "{\"name\":\(jsonString(name)),\"message\":\(jsonString(message))}")
    }

    @Test func postingIsLimitedInBytes() async throws {
        try await onStage { stage in
            let longest = String(repeating: "é", count: Posting.messageLimit / 2)
            #expect(try post(stage, name: "ann", message: longest).status == 200)
            // Swift counts one character each; the number of marks is unlimited.
            let marked = "a" + String(repeating: "\u{301}", count: Posting.nameBytesLimit / 2)
            for (name, message) in [("ann", longest + "x"), (marked, "hello")] {
                let answer = try post(stage, name: name, message: message)
                #expect(answer.status == 422)
                #expect(answer.json["code"] as? String == "invalid_request")
            }
            #expect(try list(stage).map { $0[1] } == [longest])
        }
    }

    /// Rows that were stored before the bound existed, or by another program.
    @Test func boardListIsLimitedInBytes() async throws {
        try await onStage { stage in
            try stage.cluster.query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT '', n, repeat('n', 4000), CASE WHEN n % 2 = 0 THEN repeat('long ', 200000) ELSE 'short ' || n END
                FROM generate_series(1, 200) AS n
                """, database: stage.database)
            let rows = try list(stage)
            let text = rows.reduce(0) { $0 + $1[0].utf8.count + $1[1].utf8.count }
            #expect(text <= 1 << 20 && rows.count > 60 && rows.count < 200)
            // The newest postings are listed, the last one at the end.
            #expect(rows.suffix(2).map { $0[1].prefix(9) } == ["short 199", "long long"])
            #expect(rows.allSatisfy { $0[0].count == Posting.nameLimit })
            #expect(rows.allSatisfy { $0[1].utf8.count <= Posting.messageLimit })
        }
    }

    @Test func headRequestForTheListReadsNoRows() async throws {
        try await onStage { stage in
            try stage.cluster.query("ALTER TABLE chatts RENAME TO elsewhere", database: stage.database)
            #expect(try RawClient.get(port: stage.port, "/getchatts").status == 500)
            let head = try RawClient.get(port: stage.port, "/getchatts", method: "HEAD")
            #expect(head.status == 200)
            #expect(head["Content-Type"] == "application/json")
        }
    }
}
