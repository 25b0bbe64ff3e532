import ChatterdBasics

/// A client token of chatterd before its signature. The algorithm is EdDSA.
public struct UnsignedToken: Sendable, Hashable {
    /// The bytes to sign.
    public let signingInput: [UInt8]

    /// The bytes of an Ed25519 signature.
    private static let signatureSize = 64

    /// Writes a token.
    ///
    /// - Parameters:
    ///   - keyID: the name of the key that signs.
    ///   - audience: the one that the token is for.
    ///   - issuedAt: the present instant, in seconds since 1970.
    ///   - expiresAt: the end, in seconds since 1970.
    /// - Throws: `tooLarge` if the names are so long that the signed token would exceed `JSONWebToken.maximumLength`; `missingKeyID` for
    ///   a name of a key that a token cannot have.
    public init(
        keyID: String, issuer: String, audience: String, issuedAt: Int64, expiresAt: Int64, grant: TokenGrant
    ) throws(TokenError) {
        guard 1...JSONWebToken.maximumKeyIDLength ~= keyID.utf8.count else { throw .missingKeyID }
        var header = ByteBuffer()
        header.appendJSON { json in
            json.object { json in
                json.member("alg", SignatureAlgorithm.edDSA.rawValue)
                json.member("kid", keyID)
                json.member("typ", "JWT")
            }
        }
        var payload = ByteBuffer()
        payload.appendJSON { json in
            json.object { json in
                json.member("iss", issuer)
                json.member("sub", grant.owner.person)
                json.member("aud", audience)
                json.member("exp", Int(expiresAt))
                json.member("iat", Int(issuedAt))
                Self.append(grant, to: &json)
            }
        }
        var text = ByteBuffer()
        text.append(base64URL: header.bytes)
        text.append(".")
        text.append(base64URL: payload.bytes)
        guard text.count + 1 + (Self.signatureSize * 4 + 2) / 3 <= JSONWebToken.maximumLength else { throw .tooLarge }
        signingInput = text.array
    }

    /// The text of the token with its signature.
    public func text(signature: [UInt8]) -> String {
        var text = ByteBuffer()
        text.append(signingInput)
        text.append(".")
        text.append(base64URL: signature.span)
        return text.string
    }

    private static func append(_ grant: TokenGrant, to json: inout JSONWriter) {
        json.member("app", grant.owner.app)
        json.member("key", grant.key)
        json.member("scope", grant.scopes.sorted().map(\.rawValue).joined(separator: " "))
        append("conversations", grant.conversations, to: &json)
        append("models", grant.models, to: &json)
        guard !grant.allowance.isUnlimited else { return }
        json.object("limits") { json in
            json.member("requests_per_minute", grant.allowance.requestsPerMinute)
            json.member("tokens_per_day", grant.allowance.tokensPerDay)
            json.member("concurrent_replies", grant.allowance.concurrentReplies)
        }
    }

    private static func append(_ name: String, _ names: Set<ExactText>?, to json: inout JSONWriter) {
        guard let names else { return }
        json.array(name) { json in
            for name in names.map(\.text).sorted() {
                json.string(name)
            }
        }
    }
}
