import ChatterdHTTP
import Testing

@testable import ChatterdHTTPServer

struct BrowserPolicyTests {
    private static let policy = BrowserPolicy(
        hosts: Set(["chat.example"].compactMap { HostName($0) }),
        origins: Set(
            (["https://app.example", "http://localhost:3000"] + Self.originsOfApps).compactMap {
                WebOrigin(parsing: $0)
            })
    )
    /// The origins of programs that show a page in a window of their own.
    private static let originsOfApps = [
        "capacitor://localhost", "tauri://localhost", "app://obsidian.md", "vscode-webview://x",
        "chrome-extension://hnjbmnhgoeamfegkgcbkeibncnppgbnp",
    ]

    private func verdict(
        host: String?, _ fields: Fields = [:], isSecure: Bool = false, policy: BrowserPolicy = Self.policy
    ) throws -> BrowserPolicy.Verdict {
        var all = fields
        if let host = host.flatMap({ FieldValue(validating: $0) }) { all.add(.host, host) }
        let head = RequestHead(method: .post, target: try Target("/llmchat"), fields: all)
        return policy.verdict(on: head, isSecure: isSecure)
    }

    @Test(arguments: ["127.0.0.1:8080", "[::1]:8080", "localhost", "CHAT.example:8080", "chat.example."])
    func requestForAKnownHostIsServed(host: String) throws {
        #expect(try verdict(host: host) == .served)
    }

    @Test(arguments: ["evil.example", "evil.example:8080", "chat.example.evil.example", "localhost.evil.example"])
    func requestForAnotherHostIsRefused(host: String) throws {
        #expect(try verdict(host: host) == .refused(.misdirected))
        #expect(try verdict(host: host, policy: BrowserPolicy()) == .served)
    }

    @Test func linkOfAnotherSiteOpensPagesOnly() throws {
        func verdict(
            _ method: ChatterdHTTP.Method, host: FieldValue, _ mode: FieldValue, isPage: Bool
        ) throws -> BrowserPolicy.Verdict {
            let fields: Fields = [.host: host, .secFetchSite: "cross-site", .secFetchMode: mode]
            let head = RequestHead(method: method, target: try Target("/"), fields: fields)
            return Self.policy.verdict(on: head, isSecure: false, isPage: isPage)
        }
        #expect(try verdict(.get, host: "chat.example", "navigate", isPage: true) == .served)
        #expect(try verdict(.get, host: "chat.example", "navigate", isPage: false) == .refused(.foreignOrigin))
        #expect(try verdict(.get, host: "chat.example", "cors", isPage: true) == .refused(.foreignOrigin))
        #expect(try verdict(.post, host: "chat.example", "navigate", isPage: true) == .refused(.foreignOrigin))
        #expect(try verdict(.get, host: "evil.example", "navigate", isPage: true) == .refused(.misdirected))
    }

    @Test func requestWithoutHostIsServed() throws {
        #expect(try verdict(host: nil) == .served)
    }

    @Test func hostOfAbsoluteFormCounts() throws {
        let head = RequestHead(
            method: .get, target: try Target("http://evil.example/"), fields: [.host: "localhost"])
        #expect(Self.policy.verdict(on: head, isSecure: false) == .refused(.misdirected))
    }

    @Test(arguments: [
        ("localhost:8080", "http://localhost:8080", false), ("localhost", "http://localhost", false),
        ("localhost:80", "http://localhost", false), ("chat.example", "https://chat.example", true),
        ("chat.example:443", "https://CHAT.example", true), ("[::1]:8080", "http://[::1]:8080", false),
    ])
    func pageOfTheServerItselfIsServed(host: String, origin: String, isSecure: Bool) throws {
        let origin = try #require(FieldValue(validating: origin))
        #expect(try verdict(host: host, [.origin: origin], isSecure: isSecure) == .served)
        #expect(
            try verdict(host: host, [.origin: origin, .secFetchSite: "same-origin"], isSecure: isSecure) == .served)
    }

    @Test(arguments: [
        ("localhost:8080", "http://localhost:8081"), ("localhost:8080", "http://127.0.0.1:8080"),
        ("localhost:8080", "https://localhost:8080"), ("localhost:8080", "http://localhost"),
        ("localhost:8080", "null"), ("localhost:8080", "https://app.example.evil.example"),
        ("localhost:8080", "http://app.example"), ("localhost:8080", "https://app.example:444"),
        ("localhost:8080", "https://app.example/"), ("localhost:8080", ""), ("localhost:8080", "app.example"),
    ])
    func foreignPageIsRefused(host: String, origin: String) throws {
        let origin = try #require(FieldValue(validating: origin))
        #expect(try verdict(host: host, [.origin: origin]) == .refused(.foreignOrigin))
        #expect(try verdict(host: host, [.origin: origin, .secFetchSite: "same-origin"]) == .refused(.foreignOrigin))
    }

    @Test(arguments: ["https://app.example", "http://localhost:3000"] + originsOfApps)
    func pageOfAListedOriginIsServedAndMayRead(origin: String) throws {
        let value = try #require(FieldValue(validating: origin))
        #expect(try verdict(host: "127.0.0.1:8080", [.origin: value]) == .shared(with: origin))
        #expect(
            try verdict(host: "127.0.0.1:8080", [.origin: value, .secFetchSite: "cross-site"]) == .shared(with: origin))
    }

    /// The fields that a preflight allows when it asks for some.
    private func allowed(_ asked: String, beside fields: [FieldName] = []) throws -> String? {
        let asked = try #require(FieldValue(validating: asked))
        return BrowserPolicy(requestFields: fields)
            .preflight(methods: "POST", for: [.accessControlRequestHeaders: asked])[.accessControlAllowHeaders]
    }

    @Test func fieldsThatAPreflightAsksForAreAllowed() throws {
        #expect(
            try allowed("Authorization,x-stainless-os , openai-beta,,traceparent", beside: [.authorization, .xAppID])
                == "authorization, x-app-id, x-stainless-os, openai-beta, traceparent")
        #expect(try allowed("a,A,a") == "a")
        let policy = BrowserPolicy(requestFields: [.xAppID])
        #expect(policy.preflight(methods: "POST", for: [:])[.accessControlAllowHeaders] == "x-app-id")
    }

    @Test(arguments: ["a b", "a:b", "\"a\"", "ä", "cookie", "X-Chatterd-Session", "*"])
    func fieldThatNoPageMaySendIsNotAllowed(_ name: String) throws {
        #expect(try allowed("x-a,\(name),x-b") == "x-a, x-b")
    }

    @Test func fieldsOfAPreflightAreLimited() throws {
        let names = (0..<BrowserPolicy.maximumAskedFields).map { "x-\($0)" }
        #expect(try allowed((names + ["x-more"]).joined(separator: ",")) == names.joined(separator: ", "))
        let long = String(repeating: "x", count: BrowserPolicy.maximumAskedBytes)
        #expect(try allowed("\(long),y") == long)
        #expect(try allowed("y,\(long)") == "y")
    }

    @Test func twoOriginsAreRefused() throws {
        let fields: Fields = [.origin: "https://app.example", .origin: "https://app.example"]
        #expect(try verdict(host: "localhost", fields) == .refused(.foreignOrigin))
    }

    @Test(arguments: [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false), ("", false)])
    func fetchMetadataDecidesWithoutAnOrigin(site: String, isServed: Bool) throws {
        let site = try #require(FieldValue(validating: site))
        #expect(
            try verdict(host: "localhost", [.secFetchSite: site]) == (isServed ? .served : .refused(.foreignOrigin)))
    }

    @Test(arguments: [
        "null", "", "app.example", "://app.example", "https://", "https://app.example/", "https://app.example:99999",
        "https://a b", "1https://app.example", "https:app.example", "https://user@app.example",
    ])
    func malformedOriginIsNil(text: String) {
        #expect(WebOrigin(parsing: text) == nil)
    }

    @Test(
        arguments: [
            ([:], nil), ([.contentEncoding: "identity"], nil),
            ([.contentEncoding: "gzip"], "unsupported_content_encoding"),
            ([.contentEncoding: "identity, GZIP"], "unsupported_content_encoding"),
            ([.contentType: "text/plain"], nil),
            ([.origin: "http://localhost", .contentType: "application/json; charset=utf-8"], nil),
            ([.origin: "http://localhost"], nil),
            ([.origin: "http://localhost", .contentType: "text/plain;charset=UTF-8"], "unsupported_media_type"),
            ([.origin: "http://localhost", .contentType: "Multipart/Form-Data; boundary=x"], "unsupported_media_type"),
            (
                [.origin: "http://localhost", .contentType: "application/x-www-form-urlencoded"],
                "unsupported_media_type"
            ),
        ] as [(Fields, String?)])
    func bodyIsJudgedByItsHead(fields: Fields, code: String?) throws {
        let head = RequestHead(method: .post, target: try Target("/llmchat"), fields: fields)
        #expect(BrowserPolicy.refusalOfBody(head)?.code == code)
    }
}
