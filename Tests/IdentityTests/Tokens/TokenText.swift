import ChatterdBasics
import ChatterdIdentity

/// Writes tokens of any form. Their signature is not checked here.
enum TokenText {
    static let header = #"{"alg":"EdDSA","kid":"k1","typ":"JWT"}"#

    /// The compact form.
    static func make(_ payload: String, header: String = header, signature: [UInt8] = [1, 2, 3]) -> String {
        [Array(header.utf8), Array(payload.utf8), signature].map { Base64URL.encode($0) }.joined(separator: ".")
    }

    /// A token with claims.
    static func token(_ payload: String) throws -> JSONWebToken {
        try JSONWebToken(parsing: make(payload))
    }

    /// The reason for which a text is refused; `nil` for a token.
    static func refusal(_ text: String) -> TokenError.Code? {
        do throws(TokenError) {
            _ = try JSONWebToken(parsing: text)
            return nil
        } catch {
            return error.code
        }
    }
}
