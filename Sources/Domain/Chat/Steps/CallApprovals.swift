/// Where a call of a tool of the server is in the steps of a reply.
public struct StepPlace: Hashable, Sendable {
    /// The request to the model in whose answer the call is, from 0.
    public let round: Int
    /// The number of the call in that answer, from 0.
    public let index: Int

    public init(round: Int, index: Int) {
        self.round = round
        self.index = index
    }
}

/// The answers to the calls of a reply that wait for an approval. The first answer to a call counts.
///
/// The row of the reply has them as a text: `0.0=yes,0.1=no`.
public struct CallApprovals: Sendable, Equatable {
    /// An answer.
    public enum Answer: String, Sendable {
        /// A person permits the call.
        case approved = "yes"
        /// A person refuses the call.
        case refused = "no"
        /// No person has answered in time.
        case missed = "late"
    }

    private var answers: [StepPlace: Answer] = [:]

    /// Reads the text of a row. What has another form is no approval.
    public init(parsing text: String) {
        for entry in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let numbers = parts[0].split(separator: UInt8(ascii: ".")).compactMap { Int(String($0) ?? "") }
            guard parts.count == 2, numbers.count == 2 else { continue }
            let place = StepPlace(round: numbers[0], index: numbers[1])
            if answers[place] == nil { answers[place] = Answer(rawValue: String(parts[1]) ?? "") ?? .refused }
        }
    }

    /// The answer to a call; `nil` if there is none.
    public subscript(place: StepPlace) -> Answer? { answers[place] }

    /// What the text of an answer to a call begins with.
    public static func key(of place: StepPlace) -> String { "\(place.round).\(place.index)=" }
}
