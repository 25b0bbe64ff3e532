/// The subjects whose limits a request counts against: the source of its credential, and its owner; each with its own limits.
public struct Meter: Sendable, Hashable {
    /// The source of the credential.
    public let source: UsageSource
    /// The owner.
    public let owner: Owner
    /// The limits of the source: those of the key.
    public var sourceLimits: Allowance
    /// The limits of the owner: those of the token of a person.
    public var ownerLimits: Allowance

    /// Creates a meter.
    public init(
        source: UsageSource, owner: Owner, sourceLimits: Allowance = Allowance(), ownerLimits: Allowance = Allowance()
    ) {
        self.source = source
        self.owner = owner
        self.sourceLimits = sourceLimits
        self.ownerLimits = ownerLimits
    }

    /// Whether there is a limit.
    public var isLimited: Bool { !sourceLimits.isUnlimited || !ownerLimits.isUnlimited }

    /// The meter of requests that ask no model: only their number is limited.
    public var ofRequests: Meter {
        Meter(
            source: source, owner: owner, sourceLimits: Allowance(requestsPerMinute: sourceLimits.requestsPerMinute),
            ownerLimits: Allowance(requestsPerMinute: ownerLimits.requestsPerMinute))
    }
}

extension Principal {
    /// The meter of the requests of the principal; `nil` without a key or token.
    public var meter: Meter? {
        guard let owner, let source = UsageSource(of: credential, owner: owner) else { return nil }
        // A key of an app has no person, so its limits are those of the source alone.
        guard case .key = credential.exchanged else {
            return Meter(source: source, owner: owner, sourceLimits: keyAllowance, ownerLimits: allowance)
        }
        return Meter(source: source, owner: owner, sourceLimits: allowance)
    }
}

extension Credential {
    /// The credential that a session was exchanged for; any other credential itself.
    fileprivate var exchanged: Credential {
        guard case .session(_, let credential) = self else { return self }
        return credential.exchanged
    }
}
