import ChatterdBasics
import ChatterdConfiguration
import ChatterdIdentity
import ChatterdServer
import ChatterdSockets

extension Doctor {
    /// Whether the keys of issuers can be read, and whether their clocks agree with this machine's.
    static func issuers(_ issuers: [ExternalIssuer]) async -> [Check] {
        guard !issuers.isEmpty else { return [] }
        do {
            let shard = try Shard(index: 0)
            var checks: [Check] = []
            for issuer in issuers {
                checks.append(check(issuer, await IssuerProbe.run(issuer, on: shard)))
            }
            return checks
        } catch {
            return [.wrong(.issuer, "they cannot be asked: \(error)", advice: "raise the limit on open files")]
        }
    }

    private static func check(_ issuer: ExternalIssuer, _ found: Result<IssuerProbe, KeySetProblem>) -> Check {
        let subject = "issuer \(SettingText.excerpt(issuer.issuer)) of \(SettingText.excerpt(issuer.app))"
        switch found {
        case .failure(let problem):
            return .wrong(
                .issuer, of: subject, "its keys cannot be read: \(problem.message)",
                advice: "correct CHATTERD_ISSUERS, or start its server: no token of it is accepted")
        case .success(let probe) where probe.keys == 0:
            return .wrong(
                .issuer, of: subject, "it has no key of a kind that chatterd knows",
                advice: "see docs/issuers.md for the kinds: no token of it is accepted")
        case .success(let probe):
            guard let seconds = probe.secondsAhead, abs(seconds) > TokenRequirements.notBeforeLeeway else {
                let clock = probe.secondsAhead == nil ? "its clock is not known" : "its clock agrees"
                return .fine(.issuer, of: subject, "keys: \(probe.keys), \(clock)")
            }
            return .wrong(
                .issuer, of: subject,
                "its clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") this machine's",
                advice: seconds > 0
                    ? "set the clocks with NTP: new tokens are refused, and others live longer"
                    : "set the clocks with NTP: tokens expire too early, new ones too")
        }
    }
}
