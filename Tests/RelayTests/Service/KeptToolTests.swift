import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import Testing

@testable import ChatterdRelay

/// Requests get the tools that their conversation keeps.
@Suite(.timeLimit(.minutes(30))) struct KeptToolTests {
    private static let conversation = ConversationKey(Owner(app: "app"))
    private static let tools = Array(#"[{"function":{"name":"f"}}]"#.utf8)

    private func request(_ newTools: [UInt8]? = nil) -> ChatRequest {
        var request = ChatRequest(appID: "app", model: "m", messages: [ModelMessage(role: "user", content: "x")])
        request.newTools = newTools
        return request
    }

    /// The members of the request with the kept tools; the error's code if there is one.
    private func members(
        _ request: ChatRequest, _ relay: TestRelay
    ) throws -> Result<[RawMember], RelayError> {
        let found = Lock<Result<[RawMember], RelayError>?>(nil)
        relay.run { service in
            do throws(RelayError) {
                let whole = try await service.addKeptTools(to: request, in: Self.conversation)
                found.withLock { $0 = .success(whole.passThrough) }
            } catch {
                found.withLock { $0 = .failure(error) }
            }
        }
        return try #require(found.withLock { $0 })
    }

    @Test func requestWithoutToolsHasThoseOfItsConversation() throws {
        let relay = TestRelay()
        #expect(try members(request(), relay).get().isEmpty)
        relay.database.tools[Self.conversation] = Self.tools
        #expect(try members(request(), relay).get() == [RawMember(key: "tools", value: Self.tools)])
    }

    @Test func requestWithToolsIsUnchangedAndTheStoreIsNotAsked() throws {
        let relay = TestRelay()
        relay.database.tools[Self.conversation] = Self.tools
        for tools in ["[]", "[{}]"] {
            #expect(try members(request(Array(tools.utf8)), relay).get().isEmpty)
        }
        #expect(relay.store.count(.find) == 0)
    }

    /// A row that was changed by hand.
    @Test(arguments: ["{", "{}", "[", "null", "x", "[]"]) func storedTextThatIsNoListIsIgnored(_ text: String) throws {
        let relay = TestRelay()
        relay.database.tools[Self.conversation] = Array(text.utf8)
        #expect(try members(request(), relay).get().isEmpty)
    }

    @Test func unavailableStoreRefusesTheRequest() throws {
        let relay = TestRelay()
        relay.store.isUnavailable = true
        #expect(throws: RelayError.self) { try members(request(), relay).get() }
    }
}
