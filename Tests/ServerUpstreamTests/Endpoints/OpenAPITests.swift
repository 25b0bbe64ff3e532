import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdConfiguration
@testable import ChatterdHTTPServer
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `/openapi.json` against the code, both ways.
@Suite(.timeLimit(.minutes(30))) struct OpenAPITests {
    private let document: OpenAPIDocument
    private let root: String

    init() throws {
        document = try OpenAPIDocument()
        root = String(#filePath.prefix(upTo: try #require(#filePath.firstRange(of: "/Tests/")).lowerBound))
    }

    // MARK: - Endpoints

    @Test func everyMethodOfEveryRouteIsDescribedAndNoOther() async throws {
        var described: [String: Set<String>] = [:]
        for operation in document.operations {
            let route = operation.path.replacing(/\{(\w+)\}/) { ":\($0.1)" }
            described[route, default: []].insert(operation.method.uppercased())
        }
        let expected = described
        try await onStage { stage in
            var routes: [String: Set<String>] = [:]
            for route in Route.allCases where route != .none {
                let path = route.rawValue.replacing(/:\w+/, with: "x")
                let answer = try RawClient.get(port: stage.port, path, method: "OPTIONS")
                let allow = try #require(answer["Allow"]).split(separator: ", ").map(String.init)
                routes[route.rawValue] = Set(allow).subtracting(["HEAD", "OPTIONS"])
            }
            #expect(routes == expected)
        }
    }

    @Test func everyoneMayReadTheDescription() async throws {
        try await onStage(environment: withKeys) { stage in
            let fields = [("Origin", "https://foreign.example"), ("Sec-Fetch-Site", "cross-site")]
            let answer = try RawClient.get(port: stage.port, "/openapi.json", fields: fields)
            #expect(answer.status == 200)
            // The difference of two long arrays takes minutes.
            let isWhole = answer.body == OpenAPIRoute.document
            #expect(isWhole)
            #expect(answer["Content-Type"] == "application/json")
            #expect(answer["Cache-Control"] == "public, max-age=3600")
        }
    }

    @Test func versionsAreThoseOfTheProgramAndOfTheStandard() {
        #expect(document["info/version"] as? String == Version.current)
        #expect((document["openapi"] as? String)?.hasPrefix("3.1.") == true)
    }

    @Test func everyReferenceLeadsToAComponentAndEveryComponentIsUsed() throws {
        let references = document.strings("$ref")
        for reference in references {
            _ = try document.resolved(["$ref": reference])
        }
        // These belong to requests that no operation describes, and to pages of listed origins.
        let others =
            ["NotFound", "MethodNotAllowed", "Options"].map { "#/components/responses/\($0)" }
            + ["Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"].map {
                "#/components/headers/\($0)"
            }
        let components = try ["schemas", "responses", "parameters", "headers"].flatMap { kind in
            try document.component(kind).keys.map { "#/components/\(kind)/\($0)" }
        }
        #expect(references.union(others) == Set(components))
    }

    // MARK: - Errors

    @Test func everyErrorCodeIsDescribedWithItsStatus() throws {
        var described: Set<String> = []
        for (status, response) in try document.responses() {
            let content = response["content"] as? [String: [String: Any]] ?? [:]
            let schema = content["application/json"]?["schema"] as? [String: Any] ?? [:]
            for codes in [schema, try document.resolved(schema)].compactMap({ Self.codes(of: $0) }) {
                described.formUnion(codes.map { "\(status) \($0)" })
            }
        }
        // Only the log has `cancelled`: readers of a stopped reply get a last line. `response_restarted` is of another API.
        let relay = RelayError.Code.all.filter { ![.cancelled, .responseRestarted].contains($0) }
            .map { "\($0.status.code) \($0.rawValue)" }
        let refusals = try refusals().map { "\($0.status.code) \($0.code)" }
        #expect(described == Set(relay + refusals))
    }

    /// The codes that a schema lists.
    private static func codes(of schema: [String: Any]) -> [String]? {
        let properties = schema["properties"] as? [String: [String: Any]]
        return properties?["code"]?["enum"] as? [String]
    }

    /// The refusals of the HTTP layer that a request can have.
    private func refusals() throws -> [Refusal] {
        // Faults of responses and of event streams, which a request cannot have.
        let foreign: [HTTPError.Code] = [.malformedStatusLine, .lineTooLong, .eventTooLarge]
        let faults = HTTPError.Code.allCases.filter { !foreign.contains($0) }.map { Refusal(HTTPError($0)) }
        let own: [Refusal] = [
            .notFound(suggestion: nil), .methodNotAllowed("GET"), .misdirected, .foreignOrigin, .formOfPage,
            .compressed,
            .headTimedOut, .bodyTimedOut, .noRoom(MemoryBudget(limit: 1)), .noResponse,
        ]
        let listed = try source("Sources/Kit/HTTPServer/Responses/Refusal.swift").matches(of: /code: "([a-z_]+)"/)
        #expect(own.map(\.code) == listed.map { String($0.1) })
        return faults + own
    }

    // MARK: - Limits

    @Test func everyLimitIsThatOfTheCode() throws {
        let any = Int.max
        var limits = [
            "components/headers/X-Request-Id/schema/maxLength": 64,
            "components/parameters/Idempotency-Key/schema/maxLength": 255,
            "components/schemas/AppID/maxLength": Owner.maximumAppLength,
            "components/schemas/AppKey/properties/label/maxLength": AppKey.maximumLabelLength,
            "components/schemas/AuditLog/properties/entries/maxItems": AppKeyStore.auditLimit,
            "components/schemas/Board/items/maxItems": 4,
            "components/schemas/ClientToken/properties/expires_in/maximum": TokenRoute.maximumLifetime,
            "components/schemas/ConversationList/properties/conversations/items/properties/matches/maxItems":
                CatalogueStatements.matchLimit,
            "components/schemas/ConversationList/properties/conversations/maxItems": CatalogueQuery.maximumLimit,
            "components/schemas/ConversationName/maxLength": ConversationKey.maximumNameLength,
            "components/schemas/ConversationPage/properties/messages/maxItems": ConversationPage.Window.largestLimit,
            "components/schemas/DisconnectPolicy/oneOf/1/maximum": DisconnectPolicy.maximumSeconds,
            "components/schemas/Empty/maxProperties": 0,
            "components/schemas/KeyRequest/properties/expires_in/maximum": KeyRoute.maximumLifetime,
            "components/schemas/KeyRequest/properties/label/maxLength": AppKey.maximumLabelLength,
            "components/schemas/KeyRequest/properties/models/maxItems": AppKey.maximumModels,
            "components/schemas/KeyRequest/properties/scopes/maxItems": Scope.allCases.count,
            "components/schemas/LinkRequest/properties/expires_in/maximum": LinkRoute.maximumLifetime,
            "components/schemas/LinkRequest/properties/reply/maxLength": SignedLink.maximumIDLength,
            "components/schemas/Message/properties/images/maxItems": ChatRequest.maximumImages,
            "components/schemas/Message/properties/role/maxLength": ChatRequest.maximumRoleLength,
            "components/schemas/Messages/maxItems": ChatRequest.maximumMessages,
            "components/schemas/CallAnswer/properties/index/maximum": ReplyRoute.maximumPlace,
            "components/schemas/CallAnswer/properties/round/maximum": ReplyRoute.maximumPlace,
            "components/schemas/ModelName/maxLength": ModelName.maximumLength,
            "components/schemas/PersonName/maxLength": Owner.maximumPersonLength,
            "components/schemas/Posting/properties/message/maxLength": Posting.messageLimit,
            "components/schemas/Posting/properties/name/maxLength": Posting.nameLimit,
            "components/schemas/Posting/properties/username/maxLength": Posting.nameLimit,
            "components/schemas/Receipt/properties/sent/items/maxItems": 2,
            "components/schemas/RotationRequest/properties/overlap/maximum": KeyRoute.maximumLifetime,
            "components/schemas/SearchMatch/properties/excerpt/maxLength": CatalogueStatements.excerptLength,
            "components/schemas/SessionRequest/properties/expires_in/maximum": SessionRoute.maximumLifetime,
            "components/schemas/SignedLink/properties/expires_in/maximum": LinkRoute.maximumLifetime,
            "components/schemas/Title/maxLength": ConversationTitle.maximumLength,
            "components/schemas/TokenRequest/properties/conversations/maxItems": TokenGrant.maximumNames,
            "components/schemas/TokenRequest/properties/expires_in/maximum": TokenRoute.maximumLifetime,
            "components/schemas/TokenRequest/properties/models/maxItems": TokenGrant.maximumNames,
            "components/schemas/TokenRequest/properties/scopes/maxItems": Scope.allCases.count,
            "components/schemas/Tool/properties/function/properties/name/maxLength": ChatRequest.maximumToolName,
            "components/schemas/ToolRequest/properties/tools/maxItems": ChatRequest.maximumTools,
            "components/schemas/Usage/properties/days/maxItems": UsageStore.daysLimit,
            "components/schemas/Usage/properties/people/maxItems": UsageStore.ownersLimit,
            "paths/~1audit/get/parameters/0/schema/maximum": AppKeyStore.auditLimit,
            "paths/~1audit/get/parameters/1/schema/maximum": any,
            "paths/~1conversations/get/parameters/0/schema/maximum": CatalogueQuery.maximumLimit,
            "paths/~1conversations/get/parameters/3/schema/maxLength": CatalogueQuery.maximumSearchLength,
            "paths/~1conversations~1{c}/get/parameters/0/schema/maximum": ConversationPage.Window.largestLimit,
            "paths/~1conversations~1{c}/get/parameters/1/schema/maximum": any,
            "paths/~1conversations~1{c}/get/parameters/2/schema/maximum": any,
            "paths/~1usage/get/parameters/0/schema/maximum": UsageStore.daysLimit,
            "paths/~1usage/get/parameters/1/schema/maximum": UsageStore.ownersLimit,
            "paths/~1usage/get/parameters/3/schema/maxLength": SignedLink.maximumIDLength,
            "paths/~1weather/get/parameters/0/schema/maxLength": Degrees.maximumLength,
            "paths/~1weather/get/parameters/1/schema/maxLength": Degrees.maximumLength,
        ]
        for schema in ["AppKey", "KeyRequest", "Limits", "TokenRequest"] {
            for name in ExceededLimit.Name.allCases {
                limits["components/schemas/\(schema)/properties/\(name.rawValue)/maximum"] = Allowance.highestLimit
            }
        }
        let described = document.numbers(["maxLength", "maxItems", "maxProperties", "maximum"])
            .filter { !$0.key.hasPrefix("components/schemas/Upstream/") }
        #expect(described == limits)
    }

    @Test func everyLimitOfAnUpstreamIsThatOfTheCode() throws {
        let names = ["priority", "slots", "queue_limit", "context"]
        let members = names.map { "\"\($0)\":-5000" }.joined(separator: ",")
        let text = "{\"name\":\"gpu\",\"kind\":\"echo\",\(members)}"
        let reader = try UpstreamReader(Array(text.utf8), .request(keyDirectory: nil), defaults: .init())
        let expected = names.map { name in
            let schema = "components/schemas/Upstream/properties/\(name)"
            let (minimum, maximum) = (document["\(schema)/minimum"] as? Int, document["\(schema)/maximum"] as? Int)
            return "\(name) must be a whole number, \(minimum ?? -1) to \(maximum ?? -1)"
        }
        #expect(reader.problems == expected)
    }

    @Test func everyDefaultIsThatOfTheCode() {
        let defaults = [
            "components/schemas/Upstream/properties/priority/default": 0,
            "components/schemas/RotationRequest/properties/overlap/default": KeyRoute.standardOverlap,
            "components/schemas/TokenRequest/properties/expires_in/default": TokenRoute.standardLifetime,
            "components/schemas/SessionRequest/properties/expires_in/default": SessionRoute.standardLifetime,
            "components/schemas/LinkRequest/properties/expires_in/default": LinkRoute.standardLifetime,
            "paths/~1audit/get/parameters/0/schema/default": AuditRoute.standardLimit,
            "paths/~1conversations/get/parameters/0/schema/default": CatalogueQuery.defaultLimit,
            "paths/~1conversations~1{c}/get/parameters/0/schema/default": ConversationPage.Window.usualLimit,
            "paths/~1usage/get/parameters/0/schema/default": UsageRoute.standardDays,
            "paths/~1usage/get/parameters/1/schema/default": UsageRoute.standardLimit,
        ]
        #expect(document.numbers(["default"]) == defaults)
    }

    @Test func limitsOfEveryRequestAreThoseOfTheCode() throws {
        let limits = Limits()
        var described = try #require(document["x-limits"] as? [String: Any])
        described["description"] = nil
        #expect(
            described as? [String: Int] == [
                "body": limits.body.body, "request_line": limits.head.startLine, "field_line": limits.head.fieldLine,
                "head": limits.head.total, "fields": limits.head.fields, "credential": CredentialText.limit,
            ])
    }

    // MARK: - Words

    @Test func everyMemberOfARequestIsKnownToItsDecoder() throws {
        func known(_ file: String, _ pattern: Regex<(Substring, Substring)>) throws -> [String] {
            try source(file).matches(of: pattern).map { String($0.1) }
        }
        let chat = try known("Sources/Domain/Chat/Requests/ChatRequest+Decoding.swift", /members\.value\("(\w+)"/)
        #expect(try document.members("ChatRequest") == chat.sorted())
        #expect(try Set(chat).isSuperset(of: document.members("PrepareRequest")))

        let extras = try known("Sources/Domain/Chat/Messages/ModelMessage+Decoding.swift", /case \.\w+: "(\w+)"/)
        #expect(try document.members("Message") == (extras + ["role", "content"]).sorted())

        let posting = try known("Sources/Domain/Relay/Board/Posting.swift", /matches\(key, "(\w+)"\)/)
        #expect(try document.members("Posting") == posting.sorted())

        let upstream = UpstreamFields.Name.allCases.map(\.rawValue) + ["origin", "problem"]
        #expect(try document.members("Upstream") == upstream.sorted())
    }

    /// Requests whose decoders refuse unknown members, and list the known ones in the refusal.
    private static let strictRequests = [
        ("POST", "/conversations", "ConversationCreation"), ("PATCH", "/conversations/x", "ConversationChange"),
        ("POST", "/conversations/x/fork", "ForkRequest"), ("POST", "/conversations/x/title", "TitleRequest"),
        ("POST", "/replies/x/regenerate", "RegenerationRequest"), ("POST", "/session", "SessionRequest"),
        ("POST", "/links", "LinkRequest"), ("POST", "/tokens", "TokenRequest"), ("POST", "/keys", "KeyRequest"),
        ("POST", "/keys/x/rotate", "RotationRequest"),
    ]

    @Test func everyMemberOfAStrictRequestIsInItsRefusal() async throws {
        let schemas = try Self.strictRequests.map { try document.members($0.2) }
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            for (request, members) in zip(Self.strictRequests, schemas) {
                let credential = request.1.hasPrefix("/keys") ? testAdminToken : key
                let answer = try stage.call(request.0, request.1, #"{"unknown_member":1}"#, as: credential)
                let message = answer.json["error"] as? String ?? ""
                let list = message.firstMatch(of: /may have ([a-z_, ]+?)( only)?\./).map { String($0.1) } ?? ""
                let known = list.replacing(" and ", with: ", ").split(separator: ", ").map(String.init)
                #expect(known.sorted() == members, "\(request.1): \(message)")
            }
        }
    }

    @Test func everyFieldIsKnownToTheServer() throws {
        let files = FileManager.default.enumerator(atPath: root + "/Sources")?.compactMap { $0 as? String } ?? []
        let named = try files.filter { $0.hasSuffix(".swift") }.flatMap {
            try source("Sources/" + $0).matches(of: /FieldName\(lowercase: "([a-z-]+)"\)/)
        }
        let responder = try source("Sources/Kit/HTTPServer/Responses/Responder.swift")
        let written = responder.matches(of: /append\("(?:\\r\\n)?([a-z-]+):/)
        let known = Set((named.map(\.1) + written.map(\.1)).map(String.init))
        let parameters = try document.component("parameters").values.compactMap { parameter -> String? in
            let parameter = parameter as? [String: Any]
            return parameter?["in"] as? String == "header" ? parameter?["name"] as? String : nil
        }
        let described = try Set((document.component("headers").keys + parameters).map { $0.lowercased() })
        // Fields of HTTP and of browsers, which OpenAPI does not list, and those of security schemes.
        let others: Set<String> = [
            // Those of the front doors.
            "anthropic-version", "x-conversation-id", "x-history", "x-ignored-members", "x-stainless-retry-count",
            // Those of requests to servers of tools and to hooks.
            "mcp-method", "mcp-name", "webhook-id", "webhook-signature", "webhook-timestamp", "mcp-protocol-version",
            "mcp-session-id",
            "accept", "access-control-request-headers", "access-control-request-method", "authorization",
            "connection", "content-encoding",
            "content-length", "content-type", "cookie", "date", "expect", "forwarded", "host", "keep-alive", "origin",
            "sec-fetch-mode", "sec-fetch-site", "server", "te", "trailer", "transfer-encoding", "upgrade", "x-api-key",
            "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via",
        ]
        #expect(described.union(others) == known)
        #expect(described.isDisjoint(with: others))
    }

    @Test func everyEventIsDescribed() throws {
        let known = try source("Sources/Kit/HTTP/Events/EventName.swift").matches(of: /known: "(\w+)"/)
        let described = try ["Event", "FeedEvent"].flatMap { schema in
            let kinds = try #require(try document.component("schemas/\(schema)")["oneOf"] as? [[String: Any]])
            return kinds.compactMap { kind in
                ((kind["properties"] as? [String: [String: Any]])?["event"])?["const"] as? String
            }
        }
        #expect(Set(described) == Set(known.map { String($0.1) } + ["message"]))
    }

    @Test func everyWordOfAClosedSetIsThatOfTheCode() {
        func words(_ path: String) -> [String]? { document["components/schemas/\(path)/enum"] as? [String] }
        #expect(words("Scope") == Scope.allCases.map(\.rawValue))
        #expect(words("RateLimitError/properties/limit") == ExceededLimit.Name.allCases.map(\.rawValue))
        #expect(words("ReplyState") == ["streaming"] + ReplyState.allCases.map(\.rawValue))
        #expect(words("InterruptPolicy") == InterruptPolicy.allCases.map(\.rawValue))
        #expect(words("BusyPolicy") == BusyPolicy.allCases.map(\.rawValue))
        #expect(words("UpstreamKind") == UpstreamDescription.Kind.allCases.map(\.rawValue))
        let continuations = UpstreamDescription.Continuation.allCases.map(\.rawValue)
        #expect(words("Upstream/properties/continuation") == continuations)
        let health = words("ModelList/properties/upstreams/items/properties/health")
        #expect(health == UpstreamHealth.State.allCases.map(\.rawValue))
    }

    private func source(_ file: String) throws -> String {
        try ConfigurationFile.read("\(root)/\(file)").get()
    }
}
