import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdDialects

/// Thousands of histories that clients of all APIs send, against an independent statement of what must happen.
struct RandomHistoryTests {
    private static let count = isLongRun ? 10_000 : 2_000
    private typealias Stored = [(said: SaidMessage, place: StoredMessage.Place)]

    /// A history as a door reads it goes to the place that the document states; no message is lost or doubled, and a branch begins at the
    /// turn before the first difference.
    @Test func historyGoesToTheStatedPlace() throws {
        var (branches, appended, refused) = (0, 0, 0)
        for seed in 0..<Self.count {
            var random = SeededGenerator(seed: UInt64(seed))
            let stored = history(&random)
            let api = HistoryClient.API.allCases[seed % 4]
            let request = changed(stored, &random) + [SaidMessage("user", "new")]
            var client = HistoryClient(api, random)
            let body = client.body(request)
            var note: Comment { "seed \(seed), \(api): \(request) in \(stored)\n\(body)" }
            let messages = try api.translator.request(Array(body.utf8)).chat.messages
            try #require(messages.map(\.role) == request.map(\.role), note)
            let found = HistoryMatch(of: messages, in: stored.map { StoredMessage(kept($0.said), $0.place) })
            let expected = ExpectedPlace(of: request, in: stored)
            #expect(found?.firstNew == expected?.firstNew && found?.parent == expected?.parent, note)
            guard let found else {
                refused += 1
                #expect(stored.first?.place == .seeded, note)
                continue
            }
            let known = stored.map(\.said)
            let path: [SaidMessage]
            switch found.parent {
            case .reply(let id): path = Array(known[...(stored.firstIndex { $0.place == .reply(id) } ?? 0)])
            case .start: path = Array(known.prefix(stored.prefix { $0.place == .seeded }.count))
            }
            // The model gets what the client has sent, no more and no less.
            let model = path + request[found.firstNew...]
            #expect(same(model[...], request[...]), note)
            if path.count == known.count { appended += 1 } else { branches += 1 }
        }
        // Each case occurs.
        #expect(
            min(branches, appended) > Self.count / 10 && refused > Self.count / 100,
            "\(branches) \(appended) \(refused)")
    }

    private func same(_ left: ArraySlice<SaidMessage>, _ right: ArraySlice<SaidMessage>) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0.agrees(with: $1) }
    }

    /// A message as the store has it.
    private func kept(_ said: SaidMessage) -> ModelMessage {
        var extras: [String] = []
        if said.role == "assistant" { extras.append(#""thinking":"why""#) }
        if let call = said.call {
            extras.append(
                #""tool_calls":[{"id":"kept","function":{"name":"f","arguments":{"n":\#(call),"s":"é"}}}]"#)
        }
        if let image = said.image { extras.append("\"images\":[\"iVBORw0KGgo\(image % 10)\"]") }
        return ModelMessage(
            role: said.role, content: said.text, extras: extras.isEmpty ? nil : extras.joined(separator: ","))
    }

    // MARK: - Random histories

    private func text(_ number: Int, _ isRepetitive: Bool, _ random: inout SeededGenerator) -> String {
        if isRepetitive { return ["yes", "no"].randomElement(using: &random) ?? "" }
        return ["text \(number) of é 🐣", "\(number)\n\n  two lines", "T\(number)"].randomElement(using: &random) ?? ""
    }

    /// A stored history; many repeat the same few texts, so that parts of them look alike.
    private func history(_ random: inout SeededGenerator) -> Stored {
        var history: Stored = []
        let isRepetitive = Bool.random(using: &random)
        func add(_ said: SaidMessage, _ place: StoredMessage.Place) { history.append((said, place)) }
        if Bool.random(using: &random) {
            add(SaidMessage("system", "Be brief."), Bool.random(using: &random) ? .seeded : .prompt)
        }
        let systems = history
        for _ in 0..<Int.random(in: 0..<7, using: &random) {
            let number = history.count
            if history.last?.said.call != nil {
                add(SaidMessage("tool", text(number, isRepetitive, &random)), .prompt)
            } else {
                let image =
                    Int.random(in: 0..<5, using: &random) < (isRepetitive ? 3 : 1)
                    ? Int.random(in: 0..<2, using: &random) : nil
                add(SaidMessage("user", text(number, isRepetitive, &random), image: image), .prompt)
            }
            let call = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0..<3, using: &random) : nil
            let place = StoredMessage.Place.reply(ReplyID(high: UInt64(history.count), low: 1))
            add(SaidMessage("assistant", text(number + 1, isRepetitive, &random), call: call), place)
        }
        // Messages of the system before all turns are seeded, or of the first prompt.
        return history.count == systems.count && systems.first?.place == .prompt ? [] : history
    }

    /// The history of a client that keeps it, trims it, edits it, goes back in it, or has another one.
    private func changed(_ stored: Stored, _ random: inout SeededGenerator) -> [SaidMessage] {
        var request = stored.map(\.said)
        for index in request.indices where Int.random(in: 0..<3, using: &random) == 0 { request[index].image = nil }
        for _ in 0..<Int.random(in: 0..<3, using: &random) where !request.isEmpty {
            change(&request, &random)
        }
        return request
    }

    private func change(_ request: inout [SaidMessage], _ random: inout SeededGenerator) {
        let index = Int.random(in: 0..<request.count, using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            // Only what is not white space at an end is another text.
            let text = request[index].text
            request[index].text =
                [text + "!", text.replacing(" ", with: "  "), text.replacing("é", with: "e\u{301}"), text.uppercased()]
                .randomElement(using: &random) ?? ""
        case 1: request.removeLast(request.count - index)
        case 2:
            // The oldest turns are gone.
            let systems = request.prefix { $0.role == "system" }
            let starts = request.indices.filter { request[$0].role == "user" }
            guard let start = starts.randomElement(using: &random) else { return }
            request = (Int.random(in: 0..<4, using: &random) == 0 ? [] : Array(systems)) + request[start...]
        case 3: if let call = request[index].call { request[index].call = call + 1 }
        case 4: if let image = request[index].image { request[index].image = image + 1 }
        case 5:
            // A turn in the middle is gone.
            if request[index].role == "user", index + 1 < request.count, request[index + 1].call == nil {
                request.removeSubrange(index...(index + 1))
            }
        default:
            // A turn is doubled.
            if request[index].role == "user", index + 1 < request.count, request[index + 1].call == nil {
                request.insert(contentsOf: request[index...(index + 1)], at: index)
            }
        }
    }
}
