import ChatterdHTTP
import ChatterdIdentity
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The credential in the head of a request.
@Suite struct CredentialTextTests {
    private func credential(_ fields: (FieldName, String)...) throws -> CredentialText {
        var head = RequestHead(method: .get, target: try Target("/"))
        for (name, value) in fields {
            head.fields.add(name, try #require(FieldValue(validating: value)))
        }
        return try CredentialText(of: head)
    }

    @Test(arguments: ["Bearer key", "bearer key", "BEARER   key"])
    func schemeHasAnyCaseAndSpaces(value: String) throws {
        #expect(try credential((.authorization, value)) == .bearer("key"))
    }

    @Test(arguments: ["Basic key", "Bearer", "Bearerkey", "key"])
    func otherSchemesAreNoCredential(value: String) throws {
        #expect(try credential((.authorization, value)) == .none)
    }

    @Test func apiKeyFieldIsACredential() throws {
        #expect(try credential((.xAPIKey, "key")) == .bearer("key"))
        #expect(try credential((.xAPIKey, "key"), (.authorization, "Bearer key")) == .bearer("key"))
    }

    @Test func emptyFieldBesideACredentialIsNone() throws {
        #expect(try credential((.xAPIKey, ""), (.authorization, "Bearer key")) == .bearer("key"))
        #expect(try credential((.xAPIKey, "key"), (.authorization, "Bearer")) == .bearer("key"))
        #expect(try credential((.xAPIKey, ""), (.xAPIKey, "key")) == .bearer("key"))
        #expect(try credential((.xAPIKey, ""), (.cookie, "chatterd_session=; chatterd_session=s")) == .session("s"))
        #expect(try credential((.xAPIKey, ""), (.authorization, "Bearer"), (.cookie, "chatterd_session=")) == .none)
        #expect(throws: AccessError.self) {
            try credential((.xAPIKey, ""), (.authorization, "Bearer a"), (.xAPIKey, "b"))
        }
    }

    @Test func severalCredentialsAreRefused() throws {
        #expect(throws: AccessError.self) { try credential((.xAPIKey, "a"), (.authorization, "Bearer b")) }
        #expect(throws: AccessError.self) { try credential((.authorization, "Bearer a"), (.authorization, "Bearer b")) }
    }

    @Test func longCredentialIsRefused() throws {
        let longest = String(repeating: "k", count: CredentialText.limit)
        #expect(try credential((.xAPIKey, longest)) == .bearer(longest))
        #expect(throws: AccessError.self) { try credential((.xAPIKey, longest + "k")) }
    }
}
