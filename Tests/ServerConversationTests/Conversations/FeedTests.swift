import ChatterdConfiguration
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `GET /conversations/:c/events`.
@Suite(.timeLimit(.minutes(30))) struct FeedTests {
    /// Runs three processes on one database.
    private func onThree(
        _ body: @escaping @Sendable (Stage, Stage, Stage) throws -> Void
    ) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { first in
            let second = try first.startAnother()
            defer { #expect(throws: Never.self) { try second.stop() } }
            let third = try first.startAnother()
            defer { #expect(throws: Never.self) { try third.stop() } }
            try body(first, second, third)
        }
    }

    @Test func readersOfTwoProcessesSeeTheSameEventsWhileAThirdWrites() async throws {
        try await onThree { first, second, third in
            Transcript(try third.chat("app", "zero")).check()
            let readers = try [first, second].map { try $0.follow("/conversations/app/events") }
            let states = try readers.map { try $0.nextDataEvent() }
            #expect(states[0].name == "conversation" && states[0].id == states[1].id)
            #expect(object(states[0].data ?? "")["conversation"] as? String == "app")

            let location = try #require(try third.chat("app", "one")["Location"])
            #expect(try third.call("PATCH", "/conversations/app", #"{"title":"T"}"#, as: nil).status == 200)
            // The reader's own process writes too.
            Transcript(try first.chat("app", "two")).check()
            #expect(try third.call("POST", "\(location)/choose", as: nil).status == 200)
            #expect(try third.call("PATCH", "/conversations/app", #"{"archived":true}"#, as: nil).status == 200)
            let sequences = try readers.map { try Self.events(of: $0, until: "\"archived\":true") }
            #expect(sequences[0].map(\.bytes) == sequences[1].map(\.bytes))
            let all = sequences[0]
            #expect(
                all.map(\.name) == [
                    "prompt", "reply", "end", "settings", "prompt", "reply", "end", "choice", "settings",
                ])
            #expect(object(all[0].data ?? "")["content"] as? String == "one")
            #expect(object(all[1].data ?? "")["location"] as? String == location)
            #expect(object(all[2].data ?? "")["location"] as? String == location)
            #expect(object(all[2].data ?? "")["state"] as? String == "complete")
            #expect(object(all[2].data ?? "")["done_reason"] as? String == "stop")
            #expect(object(all[7].data ?? "")["location"] as? String == location)

            // Each event is a place to continue from, at any process.
            for (index, event) in ([states[0]] + all).enumerated() where index < all.count {
                let stage = index % 2 == 0 ? second : third
                let again =
                    index % 3 == 0
                    ? try stage.follow("/conversations/app/events?last_event_id=\(event.id ?? "")")
                    : try stage.follow("/conversations/app/events", after: event.id)
                let rest = try Self.events(of: again, until: "\"archived\":true")
                #expect(rest.map(\.id) == all[index...].map(\.id))
                #expect(rest.map(\.data) == all[index...].map(\.data))
                again.close()
            }

            #expect(try third.call("DELETE", "/conversations/app", as: nil).status == 200)
            for reader in readers {
                let rest = reader.readEvents().filter { $0.data != nil }
                #expect(rest.map(\.name) == ["deleted"] && reader.bodyEnd == .complete)
            }
            #expect(try first.call("GET", "/conversations/app/events", as: nil).status == 404)
            // A conversation of the same name is another one.
            Transcript(try third.chat("app", "new")).check()
            let late = try first.follow("/conversations/app/events", after: all.last?.id)
            let reset = try late.nextDataEvent()
            #expect(reset.name == "reset" && object(reset.data ?? "")["reason"] as? String == "unknown")
        }
    }

    /// Reads events up to the first one with a text.
    private static func events(of reader: RawClient, until mark: String) throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        while events.last?.data?.contains(mark) != true {
            events.append(try reader.nextDataEvent())
        }
        return events
    }

    @Test func replacedConversationStartsItsFeedsOver() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "one")).check()
            let reader = try stage.follow("/conversations/app/events")
            _ = try reader.nextDataEvent()
            _ = try RawClient.post(port: stage.port, "/llmprep", json: chatBody("app", "be kind", role: "system"))
            let reset = try reader.nextDataEvent()
            #expect(reset.name == "reset" && object(reset.data ?? "")["reason"] as? String == "replaced")
            Transcript(try stage.chat("app", "two")).check()
            #expect(try reader.nextDataEvent().name == "prompt")
        }
    }

    @Test func runningReplyIsInTheState() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let (client, location) = try stage.begin("app", "x")
            _ = try client.nextDataEvent()
            let reader = try stage.follow("/conversations/app/events")
            let running = object(try reader.nextDataEvent().data ?? "")["running"] as? [[String: String]]
            #expect(running?.map { $0["location"] } == [location])
            #expect(try stage.stop(location).status == 200)
            let end = try reader.nextDataEvent()
            #expect(end.name == "end" && object(end.data ?? "")["state"] as? String == "cancelled")
        }
    }

    @Test func foreignConversationIsMissing() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let (key, other) = (try stage.makeKey("shop"), try stage.makeKey("other"))
            let ada = try stage.makeToken(key, person: "ada")
            let members = #","conversation":"trip""#
            #expect(try stage.call("POST", "/llmchat", prompt("x", adding: members), as: ada).status == 200)
            let own = try RawClient(port: stage.port)
            own.request("GET", "/conversations/trip/events", fields: [("Authorization", "Bearer \(ada)")])
            #expect(try own.readHead().status == 200)
            let id = try #require(try own.nextDataEvent().id)
            let missing = try stage.call("GET", "/conversations/none/events", as: ada)
            for credential in [key, other, try stage.makeToken(key, person: "bob")] {
                let answer = try stage.call(
                    "GET", "/conversations/trip/events", as: credential, fields: [("Last-Event-ID", id)])
                #expect(answer.status == 404 && answer.body == missing.body)
            }
            #expect(try stage.call("GET", "/conversations/trip/events", as: nil).status == 401)
            let narrow = try stage.makeToken(key, person: "ada", adding: #","conversations":["home"]"#)
            #expect(try stage.call("GET", "/conversations/trip/events", as: narrow).status == 403)
            // The end of the key ends the feed.
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let last = try own.nextDataEvent()
            #expect(last.name == "error" && last.id == nil && last.data?.contains("unauthorized") == true)
            #expect(own.readEvents().isEmpty && own.bodyEnd == .complete)
        }
    }

    @Test func wrongPositionsAndMissingConversationsAreRefused() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            #expect(try stage.send("GET", "/conversations/app/events").status == 404)
            Transcript(try stage.chat("app", "one")).check()
            for text in ["x", "1", "1-2", "1-2-3-4"] {
                let answer = try stage.read("/conversations/app/events", after: text)
                #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request")
            }
            let head = try stage.send("HEAD", "/conversations/app/events")
            #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
        }
    }

    @Test func stoppingProcessSendsItsReadersAway() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "one")).check()
            let other = try stage.startAnother()
            let reader = try other.follow("/conversations/app/events")
            let id = try reader.nextDataEvent().id
            try other.stop()
            let last = try reader.nextDataEvent()
            #expect(last.name == "error" && last.id == nil && last.data?.contains("shutting_down") == true)
            #expect(reader.readEvents().isEmpty && reader.bodyEnd == .complete)
            let again = try stage.follow("/conversations/app/events", after: id)
            Transcript(try stage.chat("app", "two")).check()
            #expect(try again.nextDataEvent().name == "prompt")
        }
    }

    /// A reader that does not receive holds one page, and gets all events when it receives again.
    @Test func slowReaderGetsAllEventsLater() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.unsentLimit: "64KiB"]) { stage in
            Transcript(try stage.chat("app", "zero")).check()
            let slow = try RawClient(port: stage.port, receiveBuffer: 4_096)
            slow.request("GET", "/conversations/app/events")
            #expect(try slow.readHead().status == 200)
            let count = 300
            try stage.cluster.query(
                """
                BEGIN;
                INSERT INTO chatts (appid, seq, name, message, state, opened)
                SELECT 'app', 9 + n, 'user', repeat('x', 16000), 'prompt', 2 + n FROM generate_series(1, \(count)) AS n;
                UPDATE chatterd_conversations SET revision = 2 + \(count) WHERE appid = 'app';
                COMMIT
                """, database: stage.database)
            let fast = try stage.follow("/conversations/app/events")
            #expect(try fast.nextDataEvent().name == "conversation")
            Transcript(try stage.chat("app", "last")).check()
            #expect(try Self.events(of: fast, until: "complete").count == 3)
            let all = try Self.events(of: slow, until: "complete")
            #expect(all.count == 1 + count + 3)
        }
    }

    @Test func appHasHalfOfTheFeeds() throws {
        let slots = FeedSlots()
        let persons = (0...FeedSlots.limitOfApp / FeedSlots.limitOfOwner).map { Owner(app: "a", person: "p\($0)") }
        for number in 0..<FeedSlots.limitOfApp {
            try slots.reserve(for: persons[number / FeedSlots.limitOfOwner])
        }
        let last = try #require(persons.last)
        #expect(throws: RelayError.self) { try slots.reserve(for: last) }
        try slots.reserve(for: Owner(app: "b"))
        slots.release(persons[0])
        try slots.reserve(for: last)
        #expect(slots.count == FeedSlots.limitOfApp + 1)
    }

    @Test func ownerHasALimitOfFeeds() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            for app in ["app", "other"] {
                Transcript(try stage.chat(app, "one")).check()
            }
            let readers = try (0..<FeedSlots.limitOfOwner).map { _ in try stage.follow("/conversations/app/events") }
            for reader in readers {
                #expect(try reader.nextDataEvent().name == "conversation")
            }
            let refused = try stage.send("GET", "/conversations/app/events")
            #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded")
            let other = try stage.follow("/conversations/other/events")
            #expect(try other.nextDataEvent().name == "conversation")
            // The server notices a plain close when it writes next.
            readers[0].reset()
            try eventually("a closed feed is not counted") {
                let client = try RawClient(port: stage.port)
                client.request("GET", "/conversations/app/events")
                return try client.readHead().status == 200
            }
        }
    }
}
