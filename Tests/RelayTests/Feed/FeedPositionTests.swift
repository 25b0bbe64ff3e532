import ChatterdBasics
import Testing

@testable import ChatterdRelay

/// The ids of the events of a feed, and the decision how a feed continues.
@Suite struct FeedPositionTests {
    @Test func positionIsItsTextAgain() {
        for position in [
            FeedPosition(epoch: 0, revision: 0, number: 0),
            FeedPosition(epoch: 4_503_599_627_370_496, revision: 17, number: 9),
            FeedPosition(epoch: .max, revision: .max, number: .max),
        ] {
            #expect(FeedPosition(parsing: position.text) == position)
            #expect(position.text.utf8.count <= FeedPosition.longestText)
        }
    }

    @Test(arguments: [
        "", "1", "1-2", "1-2-3-4", "1-2-", "-1-2-3", "1--2", "01-2-3", "1-+2-3", "1-2-3 ", "a-b-c",
        "1-2-9223372036854775808",
        "１-2-3", String(repeating: "1", count: 65),
    ])
    func otherTextIsNoPosition(_ text: String) {
        #expect(FeedPosition(parsing: text) == nil)
    }

    private let head = FeedHead(epoch: 7, revision: 10, base: 4)

    private func step(epoch: Int64 = 7, revision: Int64, isOpen: Bool = false) -> FeedStep {
        FeedStep(
            from: FeedPosition(epoch: epoch, revision: revision, number: 1), of: head, isOpen: isOpen)
    }

    @Test func readerContinuesBehindTheLastChangeThatCannotBeReplayed() {
        #expect((4...10).allSatisfy { step(revision: $0) == .events && step(revision: $0, isOpen: true) == .events })
        #expect((0...3).allSatisfy { step(revision: $0) == .reset(.replaced) })
    }

    @Test func readerWithoutAPositionStarts() {
        #expect(FeedStep(from: nil, of: head, isOpen: false) == .start)
    }

    @Test func readerAheadOfTheDatabaseBeginsAgain() {
        #expect(step(revision: 11) == .reset(.unknown))
    }

    @Test func readerOfAnotherEpochBeginsAgainUnlessItsConversationWasDeletedMeanwhile() {
        #expect(step(epoch: 6, revision: 5) == .reset(.unknown))
        #expect(step(epoch: 6, revision: 5, isOpen: true) == .deleted)
        #expect(step(epoch: 0, revision: 0, isOpen: true) == .reset(.unknown))
    }

    @Test func feedOfAMissingConversationEnds() {
        #expect(FeedStep(from: nil, of: nil, isOpen: false) == .deleted)
        #expect(FeedStep(from: FeedPosition(epoch: 7, revision: 1, number: 1), of: nil, isOpen: true) == .deleted)
    }

    @Test func dataOfAnEventIsOneLine() {
        let id = ReplyID(high: 1, low: 2)
        let position = FeedPosition(epoch: 1, revision: 2, number: 3)
        func data(_ change: FeedEvent.Change) -> String {
            String(decoding: FeedEvent(position: position, change: change).data.array, as: UTF8.self)
        }
        let place = #""id":"\#(id)","location":"/replies/\#(id)""#
        let time = #""1970-01-01T00:00:00.000000Z""#
        #expect(
            data(
                .prompt(
                    FeedEvent.Prompt(
                        role: "user", content: Array("a\nb".utf8), extras: Array(#""x":1"#.utf8), turn: 4, time: 0)))
                == #"{"seq":3,"turn":4,"role":"user","content":"a\nb","x":1,"time":\#(time)}"#)
        #expect(
            data(.prompt(FeedEvent.Prompt(role: "user", content: nil, extras: [], turn: 4, time: 0)))
                == #"{"seq":3,"turn":4,"role":"user","omitted":true,"time":\#(time)}"#)
        #expect(
            data(.reply(id, model: "m", time: 0))
                == #"{"seq":3,\#(place),"model":"m","state":"streaming","time":\#(time)}"#)
        #expect(
            data(
                .end(
                    id, seq: 2, state: "complete",
                    lastEvent: Array(#"{"model":"m","done_reason":"stop","done":true}"#.utf8),
                    time: 0)) == #"{"seq":2,\#(place),"state":"complete","finished_at":\#(time),"done_reason":"stop"}"#)
        #expect(data(.choice(id)) == "{\(place)}")
        #expect(data(.settings(title: nil, isArchived: true)) == #"{"title":null,"archived":true}"#)
    }
}
