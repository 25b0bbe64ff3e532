import ChatterdIdentity
import ChatterdRelay

extension RequestObject {
    /// The names of the members with the limits of a key or token.
    static let limits = ExceededLimit.Name.allCases.map(\.rawValue)

    /// The limits of a key or token; none for those that are absent.
    func allowance() throws(RelayError) -> Allowance {
        Allowance(
            requestsPerMinute: try limit(.requestsPerMinute), tokensPerDay: try limit(.tokensPerDay),
            concurrentReplies: try limit(.concurrentReplies))
    }

    private func limit(_ name: ExceededLimit.Name) throws(RelayError) -> Int? {
        try number(name.rawValue, in: 0...Allowance.highestLimit)
    }
}

extension Allowance {
    /// The limits as members of JSON, by their names.
    var members: [(name: String, value: Int?)] {
        [
            ("requests_per_minute", requestsPerMinute), ("tokens_per_day", tokensPerDay),
            ("concurrent_replies", concurrentReplies),
        ]
    }
}
