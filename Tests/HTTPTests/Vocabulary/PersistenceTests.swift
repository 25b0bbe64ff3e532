import ChatterdHTTP
import Testing

@Suite struct PersistenceTests {
    private func request(_ fields: Fields, _ version: Version = .http11) throws -> RequestHead {
        RequestHead(method: .get, target: try Target("/"), version: version, fields: fields)
    }

    @Test(arguments: [
        ("", true, false), ("close", false, false), ("Close", false, false), ("keep-alive", true, true),
        ("Keep-Alive, X", true, true), ("keep-alive, close", false, false), ("upgrade", true, false),
        ("closed", true, false), ("x,\tCLOSE ,y", false, false),
    ]) func connectionFieldAndVersionDecide(_ value: String, _ in11: Bool, _ in10: Bool) throws {
        let fields: Fields = [.connection: try #require(FieldValue(validating: value))]
        #expect(try request(fields).wantsPersistence == in11)
        #expect(try request(fields, .http10).wantsPersistence == in10)
        #expect(ResponseHead(status: .ok, fields: fields).allowsPersistence == in11)
        #expect(ResponseHead(status: .ok, version: .http10, fields: fields).allowsPersistence == in10)
    }

    @Test func withoutTheFieldTheVersionDecides() throws {
        #expect(try request([:]).wantsPersistence)
        #expect(try !request([:], .http10).wantsPersistence)
    }

    @Test func expectationCountsInHTTP11Only() throws {
        #expect(try request([.expect: "100-Continue"]).expectsContinue())
        #expect(try !request([.expect: "100-continue"], .http10).expectsContinue())
        #expect(try !request([:]).expectsContinue())
    }

    @Test(arguments: ["200-ok", "100-continue, x", "100"]) func unknownExpectationIsRefused(_ value: String) throws {
        let head = try request([.expect: try #require(FieldValue(validating: value))])
        #expect(throws: HTTPError(.unknownExpectation)) { try head.expectsContinue() }
    }

    @Test(arguments: [
        ("application/json", true), ("APPLICATION/JSON; charset=utf-8", true), (" application/json ;x", true),
        ("application/problem+json", true), ("text/json", false), ("application/jsonx", false), ("json", false),
        ("application/x-ndjson", false), ("", false), ("application/json/x", false), ("application /json", false),
    ]) func jsonIsKnownByItsMediaType(_ value: String, _ isJSON: Bool) {
        #expect((MediaType(value)?.isJSON ?? false) == isJSON)
    }

    @Test func mediaTypeOfAHeadIsReadWithoutParameters() {
        let fields: Fields = [.contentType: "text/Event-Stream; charset=utf-8"]
        #expect(fields.mediaType == .eventStream)
        #expect(Fields().mediaType == nil)
    }
}
