import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport

@testable import ChatterdDialects

/// What one message of a history says, without the forms that clients give it.
struct SaidMessage: CustomStringConvertible {
    var role: String
    /// The text, without white space at its ends.
    var text: String
    /// The number in the arguments of its call; `nil` without a call.
    var call: Int?
    var image: Int?

    init(_ role: String, _ text: String, call: Int? = nil, image: Int? = nil) {
        (self.role, self.text, self.call, self.image) = (role, text, call, image)
    }

    var description: String {
        "\(role.prefix(1)) \"\(text)\"" + (call.map { " f(\($0))" } ?? "") + (image.map { " image \($0)" } ?? "")
    }

    /// Whether two messages are the same one.
    func agrees(with other: SaidMessage) -> Bool {
        role == other.role && text.unicodeScalars.elementsEqual(other.text.unicodeScalars) && call == other.call
            && image == other.image
    }
}

/// The place of a client's history in that of its conversation, as docs/doors.md states it: "Memory". Slow, and without anything that
/// the implementation uses.
struct ExpectedPlace: Equatable {
    var firstNew: Int
    var parent: HistoryMatch.Parent

    init?(of request: [SaidMessage], in stored: [(said: SaidMessage, place: StoredMessage.Place)]) {
        func isSame(_ sent: Int, _ kept: Int) -> Bool { request[sent].agrees(with: stored[kept].said) }
        let common =
            (0..<min(request.count, stored.count)).first { !isSame($0, $0) } ?? min(request.count, stored.count)
        // What is new follows the last turn before it, and one message is left to ask with.
        for index in (0..<min(common, request.count - 1)).reversed() {
            if case .reply(let id) = stored[index].place {
                (firstNew, parent) = (index + 1, .reply(id))
                return
            }
        }
        let seeded = stored.prefix { $0.place == .seeded }.count
        guard seeded <= min(common, request.count - 1) else { return nil }
        (firstNew, parent) = (seeded, .start)
    }
}
