import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct RawClientTests {
    @Test(arguments: [1, 2, 3, 1000])
    func eventsAreReadInPiecesOfAnySize(size: Int) async throws {
        let stream = ": ping\n\nid: 1\ndata: {\"a\":1}\n\nevent: error\r\ndata: x\r\ndata: y\r\n\r\nrest"
        let upstream = try ScriptedUpstream { _ in
            .lines([stream], inChunksOf: size)
        }
        try await blocking {
            let client = try RawClient(port: upstream.port)
            client.post("/", json: "{}")
            _ = try client.readHead()
            let events = client.readEvents()
            #expect(events.map(\.comments) == [["ping"], [], []])
            #expect(events.map(\.id) == [nil, "1", nil])
            #expect(events.map(\.name) == [nil, nil, "error"])
            #expect(events.map(\.data) == [nil, "{\"a\":1}", "x\ny"])
            #expect(client.bodyEnd == .complete)
            #expect(client.body == Array(stream.utf8))
        }
    }

    @Test func halfClosedPeerIsStillAnswered() async throws {
        let upstream = try ScriptedUpstream.answering(["a"])
        try await blocking {
            let client = try RawClient(port: upstream.port)
            client.post("/", json: "{}")
            client.halfClose()
            #expect(try client.readResponse().end == .complete)
            #expect(client.readToEnd().end == .cut)
        }
    }
}
