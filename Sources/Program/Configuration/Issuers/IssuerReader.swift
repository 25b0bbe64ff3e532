import ChatterdBasics
import ChatterdIdentity

/// Reads one entry of the file of external issuers, and collects all mistakes.
struct IssuerReader {
    /// The known members.
    enum Name: String, CaseIterable {
        case app
        case issuer
        case audience
        case keysURL = "jwks_url"
        case keysFile = "jwks_file"
        case authorities = "ca_file"
        case algorithms
        case personPrefix = "person_prefix"
        case requestsPerMinute = "requests_per_minute"
        case tokensPerDay = "tokens_per_day"
        case concurrentReplies = "concurrent_replies"
    }

    /// The limit of a prefix, in Unicode scalars.
    static let maximumPrefixLength = 64

    /// The limit of a string, in bytes: that of the claims (`TokenClaims.maximumTextLength`).
    private static let textLimit = TokenClaims.maximumTextLength

    /// The issuer; `nil` if there are problems.
    private(set) var issuer: ExternalIssuer?
    /// The name of the app in the entry, valid or not, for messages.
    private(set) var app: String?
    /// One sentence for each problem.
    private(set) var problems: [String] = []

    private let values: [Name: JSONSlice]

    /// Reads an object; `null` counts as absent.
    ///
    /// - Throws: `wrongType` for another value.
    init(of object: JSONSlice) throws(JSONError) {
        let fields = try ObjectFields<Name>(of: object)
        (values, problems) = (fields.values, fields.problems)
        app = text(.app)
        if let app, Owner(validating: app) == nil {
            report(.app, "must have 1 to \(Owner.maximumAppLength) characters, and no control characters")
        }
        let issuer = text(.issuer)
        let audience = text(.audience)
        if let issuer, ExactText(issuer) == ExactText(TokenGrant.issuer) {
            report(.issuer, "\(TokenGrant.issuer) is chatterd itself: its own tokens need no entry")
        }
        let keys = readKeys()
        let authorities = readAuthorities()
        let algorithms = readAlgorithms()
        let prefix = readPrefix()
        let allowance = Allowance(
            requestsPerMinute: limit(.requestsPerMinute), tokensPerDay: limit(.tokensPerDay),
            concurrentReplies: limit(.concurrentReplies))
        if problems.isEmpty, let app, let issuer, let audience, let keys {
            self.issuer = ExternalIssuer(
                app: app, issuer: issuer, audience: audience, keys: keys, authorities: authorities,
                algorithms: algorithms, personPrefix: prefix, allowance: allowance)
        }
    }

    private mutating func readKeys() -> ExternalIssuer.Keys? {
        switch (values[.keysURL] != nil, values[.keysFile] != nil) {
        case (true, true):
            problems.append("jwks_url and jwks_file are both set: keep one of them")
            return nil
        case (false, false):
            problems.append("jwks_url or jwks_file is missing")
            return nil
        case (true, false):
            guard let text = text(.keysURL) else { return nil }
            do throws(SettingProblem) {
                return .url(try KeySetURL(parsing: text))
            } catch {
                report(.keysURL, error.message)
                return nil
            }
        case (false, true):
            return path(.keysFile).map { .file($0) }
        }
    }

    private mutating func readAuthorities() -> String? {
        guard values[.authorities] != nil else { return nil }
        if values[.keysFile] != nil {
            report(.authorities, "is of use with jwks_url only")
        }
        return path(.authorities)
    }

    private mutating func readPrefix() -> String {
        guard values[.personPrefix] != nil else { return "" }
        guard let prefix = string(.personPrefix) else { return "" }
        if prefix.unicodeScalars.count > Self.maximumPrefixLength || !Owner.isName(prefix) {
            report(.personPrefix, "must have 0 to \(Self.maximumPrefixLength) characters, and no control characters")
        }
        return prefix
    }

    private mutating func readAlgorithms() -> Set<SignatureAlgorithm> {
        let all = SignatureAlgorithm.allCases
        guard let value = values[.algorithms] else { return Set(all) }
        // More elements than there are algorithms count as a mistake, as two would be equal.
        let elements = value.elements(first: all.count + 1) ?? []
        let algorithms = Set(elements.compactMap { $0.string.flatMap { SignatureAlgorithm(word: $0) } })
        guard !elements.isEmpty, algorithms.count == elements.count else {
            report(.algorithms, "must be a list of different ones of \(all.map(\.rawValue).joined(separator: ", "))")
            return []
        }
        return algorithms
    }

    /// A limit of each person; `nil` if it is absent.
    private mutating func limit(_ name: Name) -> Int? {
        guard let value = values[name] else { return nil }
        guard let number = value.integer, 0...Allowance.highestLimit ~= number else {
            report(name, "must be a whole number from 0 to \(Allowance.highestLimit)")
            return nil
        }
        return number
    }

    /// An absolute path.
    private mutating func path(_ name: Name) -> String? {
        guard let path = text(name) else { return nil }
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            report(name, "must be a path that begins with a slash")
            return nil
        }
        return path
    }

    /// A string that is not empty.
    private mutating func text(_ name: Name) -> String? {
        guard let text = string(name) else { return nil }
        guard 1...Self.textLimit ~= text.utf8.count else {
            report(name, "must be a string of 1 to \(Self.textLimit) bytes")
            return nil
        }
        return text
    }

    private mutating func string(_ name: Name) -> String? {
        guard let value = values[name] else {
            report(name, "is missing")
            return nil
        }
        guard let text = value.storableString else {
            report(name, "must be a string")
            return nil
        }
        return text
    }

    private mutating func report(_ name: Name, _ problem: String) {
        problems.append("\(name.rawValue) \(problem)")
    }
}
