import ChatterdBasics
import ChatterdRelay
import ChatterdTestSupport
import Testing

/// A page of a conversation as JSON.
@Suite struct ConversationPageTests {
    @Test func messageHasItsPlaceAndItsEnd() {
        let reply = ReplyID(high: 1, low: 2)
        let rows = SampleConversation.rows
        let messages = [
            ConversationPage.Message(row: rows[1], follows: 0, parent: nil, isActive: true),
            ConversationPage.Message(row: rows[2], follows: nil, parent: nil, isActive: false),
            ConversationPage.Message(row: rows[5], follows: 6, parent: reply, isActive: true),
        ]
        let json = ConversationPage.encode(
            SampleConversation.header, messages, range: 2...8, moreBefore: true, moreAfter: false)
        #expect(
            json.string == """
                {"conversation":"trip","title":"To \\"Rome\\"","created_at":"2026-11-20T10:39:26.491288Z",\
                "updated_at":"2026-11-20T10:39:26.491289Z","messages":[\
                {"seq":2,"role":"user","content":"one","images":["aGk="],"time":"2026-11-20T10:39:26.491288Z",\
                "after":0,"parent":null,"active":true},\
                {"seq":3,"id":"8a3c1f52-6a0e-8c43-a1ce-6f0be9c7d3f1","model":"tiny","state":"complete","role":"assistant",\
                "content":"a1","thinking":"hm\u{1f600}","tool_calls":[{"function":{"name":"f","arguments":{}}}],\
                "time":"2026-11-20T10:39:26.491288Z","finished_at":"2026-11-20T10:39:26.491289Z","done_reason":"stop",\
                "eval_count":3,"active":false},\
                {"seq":8,"role":"user","content":"two","time":"2026-11-20T10:39:26.491288Z","after":6,\
                "parent":"00000000-0000-0001-0000-000000000002","active":true}],"first":2,"last":8,"more_before":true,\
                "more_after":false}
                """)
    }

    /// A reply without a last event has the members that its stream has.
    @Test(arguments: [
        (
            ReplyState.interrupted,
            #","error":"The server stopped in the middle of this answer. Ask again.","code":"interrupted","retryable":true"#
        ), (.failed, #","error":"This answer failed. Ask again.","code":"internal","retryable":true"#),
        (.cancelled, #","done_reason":"stop""#), (.complete, #","done_reason":"stop""#), (nil, ""),
    ])
    func replyThatWasClosedWithoutALastEventHasItsEnd(_ state: ReplyState?, _ end: String) {
        var row = SampleConversation.rows[2]
        guard case .reply(var reply) = row.kind else { return }
        (reply.state, reply.lastEvent) = (state, [])
        row.kind = .reply(reply)
        let page = ConversationPage.encode(
            SampleConversation.header,
            [ConversationPage.Message(row: row, follows: nil, parent: nil, isActive: true)],
            moreBefore: false, moreAfter: false
        ).string
        #expect(page.contains(#"491289Z"\#(end),"active":true"#), "\(page)")
    }

    @Test(arguments: PeerNumber.all)
    func countsThatAreNoneAreLeftOut(_ number: PeerNumber) throws {
        var row = SampleConversation.rows[2]
        guard case .reply(var reply) = row.kind else { return }
        reply.lastEvent = Array(#"{"done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"#.utf8)
        row.kind = .reply(reply)
        let page = ConversationPage.encode(
            SampleConversation.header,
            [ConversationPage.Message(row: row, follows: nil, parent: nil, isActive: true)],
            moreBefore: false, moreAfter: false
        ).string
        let counts = number.count.map { #","prompt_eval_count":\#($0),"eval_count":\#($0)"# } ?? ""
        #expect(page.contains(#"491289Z"\#(counts),"active":true"#), "\(page)")
    }

    @Test(
        arguments: [
            (0, 0), (1_795_171_166_491_288, 1_795_171_166_491_288_000), (.max, .max), (.min, .min),
            (9_223_372_036_854_775, 9_223_372_036_854_775_000), (9_223_372_036_854_776, .max),
        ] as [(Int64, Int64)])
    func timeOfARowThatDoesNotFitIsTheNearestOne(_ microseconds: Int64, _ nanoseconds: Int64) {
        let record = ReplyRecord(
            id: ReplyID(high: 1, low: 2), turn: Turn(conversation: "app", number: 1), model: "m", state: .complete,
            attempt: 1, isAbandoned: false, createdAt: microseconds, finishedAt: nil)
        #expect(record.createdAtNanoseconds == nanoseconds)
    }

    @Test func emptyPageHasNoEnds() {
        let json = ConversationPage.encode(
            ConversationHeader(name: "x", createdAt: 0, updatedAt: 0), [], moreBefore: false, moreAfter: false)
        #expect(
            json.string == """
                {"conversation":"x","created_at":"1970-01-01T00:00:00.000000Z","updated_at":"1970-01-01T00:00:00.000000Z",\
                "messages":[],"more_before":false,"more_after":false}
                """)
    }
}
