import ChatterdHTTP
import ChatterdIdentity

extension Fields {
    /// Adds the rest of the limits of a principal, under OpenAI's names; no field for a principal without limits.
    mutating func add(_ quota: Quota?) {
        guard let quota else { return }
        add(quota.requests, .xRateLimitLimitRequests, .xRateLimitRemainingRequests, .xRateLimitResetRequests)
        add(quota.tokens, .xRateLimitLimitTokens, .xRateLimitRemainingTokens, .xRateLimitResetTokens)
    }

    private mutating func add(
        _ level: Quota.Level?, _ maximum: FieldName, _ remaining: FieldName, _ reset: FieldName
    ) {
        guard let level else { return }
        add(maximum, FieldValue(level.maximum))
        add(remaining, FieldValue(level.remaining))
        if let duration = FieldValue(validating: "\(level.reset)s") {
            add(reset, duration)
        }
    }
}
