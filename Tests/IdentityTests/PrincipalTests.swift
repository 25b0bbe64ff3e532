import ChatterdBasics
import ChatterdIdentity
import Testing

@Suite struct PrincipalTests {
    private let key = Principal(owner: Owner(app: "shop"), scopes: [.chat, .read], credential: .key(id: "1"))

    @Test func requestWithoutACredentialActsForTheAppThatItNames() throws {
        #expect(try Principal.anyone.owner(naming: "shop") == Owner(app: "shop"))
        #expect(try Principal.anyone.owner(naming: nil) == nil)
    }

    @Test func credentialNamesTheApp() throws {
        #expect(try key.owner(naming: nil) == Owner(app: "shop"))
        #expect(try key.owner(naming: "shop") == Owner(app: "shop"))
        #expect(throws: AccessError.self) { try key.owner(naming: "other") }
    }

    @Test func administratorBelongsToNoApp() {
        #expect(throws: AccessError.self) { try Principal.administrator.owner(naming: "shop") }
        #expect(throws: AccessError.self) { try Principal.administrator.require(.chat) }
    }

    @Test func missingScopeIsForbidden() throws {
        try key.require(.chat)
        #expect(throws: AccessError.self) { try key.require(.tokens) }
    }

    @Test func conversationOfAnotherOwnerIsForbidden() throws {
        try key.require(ConversationKey(Owner(app: "shop"), name: "trip"))
        for owner in [Owner(app: "other"), Owner(app: "shop", person: "ada")] {
            #expect(throws: AccessError.self) { try key.require(ConversationKey(owner, name: "trip")) }
            #expect(!key.permits(ConversationKey(owner)))
        }
    }

    /// "é" has two spellings in Unicode. PostgreSQL keeps their rows apart.
    @Test func nameThatOnlyLooksTheSameIsAnotherApp() {
        let (one, other) = (Owner(app: "caf\u{E9}"), Owner(app: "cafe\u{301}"))
        #expect(one != other && Set([one, other]).count == 2)
        let key = Principal(owner: one, scopes: [.chat], credential: .key(id: "1"))
        #expect(throws: AccessError.self) { try key.owner(naming: other.app) }
        #expect(!key.permits(ConversationKey(other)))
    }

    @Test func onlyListedConversationsAndModelsArePermitted() throws {
        var token = key
        token.conversations = [ExactText("trip")]
        token.models = [ExactText("small")]
        try token.require(ConversationKey(Owner(app: "shop"), name: "trip"))
        try token.require(model: "small")
        #expect(throws: AccessError.self) { try token.require(ConversationKey(Owner(app: "shop"))) }
        #expect(throws: AccessError.self) { try token.require(model: "large") }
    }
}
