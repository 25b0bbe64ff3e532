import ChatterdBasics

/// A link by which an `EventSource`, which cannot send a credential in a header, reads one reply or the events of one conversation.
///
/// The text in the query is `payload.code`, both in base64url. The payload has a version, the kind of the target, the instants, and four
/// texts, each after its length; the code authenticates it (HMAC-SHA-256). Only chatterd reads the payload.
public struct SignedLink: Sendable, Hashable {
    /// The limit of the text, in bytes.
    public static let maximumLength = 4 << 10
    /// The number of bytes of a code.
    public static let codeSize = 32
    /// The limit of the id of a reply, and of the name of a credential, in bytes.
    public static let maximumIDLength = 64

    /// The resource that the link reads.
    public enum Target: Sendable, Hashable {
        /// A reply, by its id.
        case reply(String)
        /// A conversation of the owner, by its name.
        case conversation(String)
    }

    /// The resource that the link reads.
    public let target: Target
    /// The owner of the target.
    public let owner: Owner
    /// The name of the key or the credential with which the link was made, so that it ends with it; it may be empty.
    public let credential: String
    /// The id of the session with which the link was made, so that it ends with it; empty without one.
    public let session: String
    /// The instant at which the link was made, in seconds since 1970.
    public let issuedAt: Int64
    /// The instant from which the link is not valid any more, in seconds since 1970.
    public let expiresAt: Int64

    /// Separates the codes of links from codes of other texts with the same key.
    private static let purpose: StaticString = "chatterd link\0"
    /// The version of a payload without a session, and of one with a session.
    private static let (version, versionWithSession): (UInt8, UInt8) = (1, 2)

    /// Creates a link.
    ///
    /// - Throws: `invalidName` for names that break the rules, and for an empty or long id.
    public init(
        _ target: Target, owner: Owner, credential: String = "", session: String = "", issuedAt: Int64, expiresAt: Int64
    ) throws(TokenError) {
        guard Owner(validating: owner.app, person: owner.person) != nil, Self.isValid(target),
            credential.utf8.count <= Self.maximumIDLength, session.utf8.count <= Self.maximumIDLength
        else { throw .invalidName }
        self.target = target
        self.owner = owner
        self.credential = credential
        self.session = session
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// The bytes that the code authenticates.
    public var authenticatedBytes: [UInt8] {
        var bytes = ByteBuffer()
        bytes.append(Self.purpose)
        bytes.append(payload)
        return bytes.array
    }

    /// The text of the link with the code of `authenticatedBytes`.
    public func text(code: [UInt8]) -> String {
        var text = ByteBuffer()
        text.append(base64URL: payload.bytes)
        text.append(".")
        text.append(base64URL: code.span)
        return text.string
    }

    /// Parses the text of a link. The caller verifies the code before it uses the link.
    ///
    /// - Throws: `tooLarge`, `malformed`.
    public static func parse(_ text: String) throws(TokenError) -> (link: SignedLink, code: [UInt8]) {
        guard text.utf8.count <= maximumLength else { throw .linkTooLarge }
        let parts = text.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false).map(Substring.init)
        guard parts.count == 2, let payload = Base64URL.decode(parts[0]), let code = Base64URL.decode(parts[1]),
            code.count == codeSize, let link = SignedLink(payload: payload)
        else { throw .malformedLink }
        return (link, code)
    }

    /// Throws `expired` from the end of the link on.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    public func check(at now: Int64) throws(TokenError) {
        guard expiresAt > now else { throw .expiredLink }
    }

    private static func isValid(_ target: Target) -> Bool {
        switch target {
        case .reply(let id): 1...maximumIDLength ~= id.utf8.count
        case .conversation(let name): Owner.isName(name, upTo: ConversationKey.maximumNameLength)
        }
    }
}

extension SignedLink {
    private var payload: ByteBuffer {
        var payload = ByteBuffer()
        payload.append(session.isEmpty ? Self.version : Self.versionWithSession)
        switch target {
        case .reply(let id): Self.append(kind: "r", id, to: &payload)
        case .conversation(let name): Self.append(kind: "c", name, to: &payload)
        }
        Self.append(issuedAt, to: &payload)
        Self.append(expiresAt, to: &payload)
        // The name of a person is never empty.
        for text in [owner.app, owner.person ?? "", credential] + (session.isEmpty ? [] : [session]) {
            Self.append(text, to: &payload)
        }
        return payload
    }

    private static func append(kind: Unicode.Scalar, _ text: String, to payload: inout ByteBuffer) {
        payload.append(UInt8(ascii: kind))
        append(text, to: &payload)
    }

    private static func append(_ number: Int64, to payload: inout ByteBuffer) {
        for shift in stride(from: 56, through: 0, by: -8) {
            payload.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Appends a text after its length in two bytes; the rules of names keep all lengths below 1,100 bytes.
    private static func append(_ text: String, to payload: inout ByteBuffer) {
        let count = UInt16(text.utf8.count)
        payload.append(UInt8(count >> 8))
        payload.append(UInt8(count & 0xFF))
        payload.append(utf8: text)
    }

    private init?(payload: [UInt8]) {
        var rest = payload[...]
        guard let version = rest.popFirst(), version == Self.version || version == Self.versionWithSession,
            let kind = rest.popFirst(), let name = Self.text(&rest),
            let issuedAt = Self.number(&rest), let expiresAt = Self.number(&rest), let app = Self.text(&rest),
            let person = Self.text(&rest), let credential = Self.text(&rest),
            let session = version == Self.version ? "" : Self.text(&rest), rest.isEmpty,
            session.isEmpty == (version == Self.version)
        else { return nil }
        let target: Target
        switch kind {
        case UInt8(ascii: "r"): target = .reply(name)
        case UInt8(ascii: "c"): target = .conversation(name)
        default: return nil
        }
        let owner = Owner(app: app, person: person.isEmpty ? nil : person)
        try? self.init(
            target, owner: owner, credential: credential, session: session, issuedAt: issuedAt, expiresAt: expiresAt)
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        guard bytes.count >= 8 else { return nil }
        defer { bytes.removeFirst(8) }
        return Int64(bitPattern: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func text(_ bytes: inout ArraySlice<UInt8>) -> String? {
        guard let high = bytes.popFirst(), let low = bytes.popFirst() else { return nil }
        let count = Int(high) << 8 | Int(low)
        guard bytes.count >= count else { return nil }
        defer { bytes.removeFirst(count) }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }
}
