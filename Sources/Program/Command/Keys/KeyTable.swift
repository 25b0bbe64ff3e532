import ChatterdIdentity

/// The list of keys for people.
struct KeyTable {
    let text: String

    init(_ keys: [AppKey], now: Int64) {
        text =
            keys.isEmpty
            ? "there are no keys; make one with `chatterd keys create --app NAME`"
            : keys.map { Self.line(of: $0, now: now) }.joined(separator: "\n")
    }

    /// One key, with everything but its secret.
    static func line(of key: AppKey, now: Int64) -> String {
        let grant = key.grant
        var facts = [grant.scopes.sorted().map(\.rawValue).joined(separator: " ")]
        if let models = grant.models { facts.append("models \(models.joined(separator: " "))") }
        if let limit = grant.allowance.requestsPerMinute { facts.append("\(limit) requests per minute") }
        if let limit = grant.allowance.tokensPerDay { facts.append("\(limit) tokens per day") }
        if let limit = grant.allowance.concurrentReplies { facts.append("\(limit) concurrent replies") }
        facts.append(end(of: key, now: now))
        let label = grant.label.isEmpty ? "" : " (\(grant.label))"
        return "key \(key.id) of app \(grant.app)\(label): \(facts.joined(separator: ", "))"
    }

    private static func end(of key: AppKey, now: Int64) -> String {
        if key.revokedAt != nil { return "revoked" }
        guard let end = key.grant.expiresAt else { return "no end" }
        guard end > now else { return "expired" }
        let left = end - now
        let (count, unit) =
            left >= 172_800 ? (left / 86_400, "days") : left >= 7_200 ? (left / 3_600, "hours") : (left, "seconds")
        return "ends in \(count) \(unit)"
    }
}
