import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer

/// Hints for refusals of the HTTP layer: the settings behind its limits. The HTTP layer knows no settings.
struct RefusalHints: Sendable {
    private let hints: [String: String]

    init(_ limits: Limits) {
        let head = "At most \(SettingText.bytes(limits.head.total)) are accepted (\(Setting.headLimit.name))."
        let rate =
            limits.bodyRate == 0
            ? ""
            : ", and must come at \(SettingText.bytes(limits.bodyRate)) a second (\(Setting.bodyMinimumRate.name))"
        let pace = "It may pause for \(SettingText.duration(limits.bodyDeadline)) (\(Setting.bodyTimeout.name))\(rate)."
        hints = [
            "body_too_large":
                "At most \(SettingText.bytes(limits.body.body)) are accepted (\(Setting.bodyLimit.name)).",
            "request_line_too_long":
                "At most \(SettingText.bytes(limits.head.startLine)) are accepted (\(Setting.requestLineLimit.name)).",
            "field_too_large": head,
            "head_too_large": head,
            "too_many_fields": "At most \(limits.head.fields) are accepted (\(Setting.fieldsLimit.name)).",
            "head_timeout":
                "It must be complete in \(SettingText.duration(limits.headDeadline)) (\(Setting.headTimeout.name)).",
            "body_timeout": pace,
            "misdirected_request":
                "Use a numeric address or localhost, or have the operator add the name to \(Setting.hosts.name).",
            "forbidden_origin": "To allow it, the operator adds its origin to \(Setting.origins.name).",
        ]
    }

    /// The refusal with a hint.
    func explained(_ refusal: Refusal) -> Refusal {
        guard let hint = hints[refusal.code] else { return refusal }
        return Refusal(
            refusal.status, code: refusal.code, message: "\(refusal.message) \(hint)", retryAfter: refusal.retryAfter,
            fields: refusal.fields)
    }
}
