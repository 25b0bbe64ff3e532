import ChatterdBasics
import ChatterdIdentity
import ChatterdSockets
import Testing

@testable import ChatterdConfiguration

@Suite struct IssuerListTests {
    private static let shop =
        #"{"app":"shop","issuer":"https://accounts.example","audience":"shop-client","jwks_url":"https://a.example/jwks"}"#

    private func read(_ entries: String...) -> IssuerList {
        IssuerList("{\"issuers\":[\(entries.joined(separator: ","))]}")
    }

    /// An entry with one member changed; `nil` removes it.
    private func entry(_ name: String, _ value: String?) -> String {
        var members = [
            "app": #""shop""#, "issuer": #""https://accounts.example""#, "audience": #""shop-client""#,
            "jwks_url": #""https://a.example/jwks""#,
        ]
        members[name] = value
        return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    private func url(_ text: String) -> ExternalIssuer.Keys? {
        read(entry("jwks_url", "\"\(text)\"")).issuers.first?.keys
    }

    @Test func issuerIsRead() throws {
        let list = read(Self.shop)
        #expect(list.problems == [])
        let issuer = try #require(list.issuers.first)
        #expect(issuer.app == "shop" && issuer.issuer == "https://accounts.example" && issuer.audience == "shop-client")
        #expect(issuer.keys == .url(try KeySetURL(parsing: "https://a.example/jwks")))
        #expect(issuer.algorithms == Set(SignatureAlgorithm.allCases))
    }

    @Test func limitsOfPeopleAreRead() {
        let list = read(
            #"{"app":"a","issuer":"i","audience":"c","jwks_file":"/f","requests_per_minute":9,"concurrent_replies":0}"#)
        #expect(list.problems == [])
        #expect(list.issuers.map(\.allowance) == [Allowance(requestsPerMinute: 9, concurrentReplies: 0)])
    }

    @Test func keysAreInAFile() {
        let list = read(
            #"{"app":"a","issuer":"i","audience":"c","jwks_file":"/keys/jwks.json","jwks_url":null,"algorithms":["ES256"]}"#
        )
        #expect(list.problems == [])
        #expect(list.issuers.map(\.keys) == [.file("/keys/jwks.json")])
        #expect(list.issuers.map(\.algorithms) == [[.es256]])
    }

    @Test func appHasSeveralIssuers() {
        let list = read(
            prefixed("https://a.example", "a:"), prefixed("https://b.example", "b:"),
            prefixed("https://b.example", "b:", audience: "second"), prefixed("https://c.example", "", app: "other"))
        #expect(list.problems == [] && list.issuers.map(\.personPrefix) == ["a:", "b:", "b:", ""])
    }

    private func prefixed(
        _ issuer: String, _ prefix: String, audience: String = "client", app: String = "shop"
    ) -> String {
        #"{"app":"\#(app)","issuer":"\#(issuer)","audience":"\#(audience)","jwks_file":"/f","person_prefix":"\#(prefix)"}"#
    }

    /// `a` + `b1` and `ab` + `1` would be one person.
    @Test(arguments: [
        ("", ""), ("", "b:"), ("b:", ""), ("b:", "b:"), ("a", "ab"), ("ab", "a"), ("\u{e9}", "\u{e9}x"),
    ])
    func issuersOfAnAppNameDifferentPeople(first: String, second: String) {
        let list = read(prefixed("https://a.example", first), prefixed("https://b.example", second))
        #expect(list.issuers.count == 1)
        #expect(
            list.problems == [
                #"entry 2 ("shop"): its people could get the names of people of an earlier entry: "#
                    + #"give each issuer of an app its own person_prefix, such as "google:""#
            ])
        // Entries of one issuer may have one prefix, but no prefix that begins like another.
        let same = read(prefixed("https://a.example", first), prefixed("https://a.example", second, audience: "web"))
        #expect(same.problems.isEmpty == (first == second))
    }

    @Test func authoritiesAreRead() {
        let list = read(entry("ca_file", #""/etc/ca.pem""#))
        #expect(list.problems == [] && list.issuers.map(\.authorities) == ["/etc/ca.pem"])
        #expect(read(Self.shop).issuers.map(\.authorities) == [nil])
        #expect(
            read(#"{"app":"a","issuer":"i","audience":"c","jwks_file":"/f","ca_file":"/ca"}"#).problems == [
                #"entry 1 ("a"): ca_file is of use with jwks_url only"#
            ])
    }

    @Test func issuerAndAudienceLeadToOneApp() {
        let list = read(Self.shop, entry("app", #""other""#))
        #expect(list.issuers.map(\.app) == ["shop"])
        #expect(list.problems == [#"entry 2 ("other"): an earlier entry has the same issuer and audience"#])
    }

    @Test func fileWithoutIssuersIsEmpty() {
        #expect(read().issuers.isEmpty && read().problems == [])
    }

    @Test(arguments: [
        ("app", nil, "app is missing"), ("app", "null", "app is missing"), ("app", "7", "app must be a string"),
        ("app", #""""#, "app must be a string of 1 to 1024 bytes"), ("app", #""a\u0000""#, "app must be a string"),
        ("app", #""a\u001f""#, "app must have 1 to 155 characters, and no control characters"),
        ("issuer", nil, "issuer is missing"), ("issuer", "[]", "issuer must be a string"),
        ("issuer", #""""#, "issuer must be a string of 1 to 1024 bytes"), ("audience", nil, "audience is missing"),
        ("audience", "{}", "audience must be a string"), ("jwks_url", nil, "jwks_url or jwks_file is missing"),
        ("jwks_file", #""/f""#, "jwks_url and jwks_file are both set: keep one of them"),
        (
            "jwks_url", #""http://a.example/jwks""#,
            "jwks_url must be an https URL such as https://accounts.example/jwks.json, without user and password"
        ),
        ("algorithms", "[]", "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("algorithms", #"["none"]"#, "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("algorithms", #"["HS256","ES256"]"#, "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("algorithms", #"["ES256","ES256"]"#, "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("algorithms", #""ES256""#, "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("algorithms", "[7]", "algorithms must be a list of different ones of EdDSA, ES256, RS256"),
        ("issuer", #""chatterd""#, "issuer chatterd is chatterd itself: its own tokens need no entry"),
        ("ca_file", #""ca.pem""#, "ca_file must be a path that begins with a slash"),
        ("ca_file", #""""#, "ca_file must be a string of 1 to 1024 bytes"),
        ("person_prefix", "7", "person_prefix must be a string"),
        ("tokens_per_day", "-1", "tokens_per_day must be a whole number from 0 to 1000000000000"),
        ("concurrent_replies", #""2""#, "concurrent_replies must be a whole number from 0 to 1000000000000"),
        ("person_prefix", #""a\u007f""#, "person_prefix must have 0 to 64 characters, and no control characters"),
        (
            "person_prefix", "\"\(String(repeating: "a", count: 65))\"",
            "person_prefix must have 0 to 64 characters, and no control characters"
        ),
        (
            "jwks", #""x""#,
            #""jwks" is not a field; there are app, issuer, audience, jwks_url, jwks_file, ca_file, algorithms, person_prefix, "#
                + "requests_per_minute, tokens_per_day, concurrent_replies"
        ),
    ])
    func problemNamesItsField(name: String, value: String?, problem: String) {
        let list = read(Self.shop, entry(name, value))
        #expect(list.issuers.count == 1)
        #expect(list.problems.count == 1)
        #expect(
            list.problems.first?.hasPrefix("entry 2") == true && list.problems.first?.hasSuffix(": \(problem)") == true)
    }

    @Test func allProblemsAreNamed() {
        let list = read("{}", "7", #"{"app":"a","app":"b"}"#)
        #expect(
            list.problems == [
                "entry 1: app is missing", "entry 1: issuer is missing", "entry 1: audience is missing",
                "entry 1: jwks_url or jwks_file is missing", "entry 2 is not an object",
                #"entry 3 ("a"): app is given twice"#,
                #"entry 3 ("a"): issuer is missing"#, #"entry 3 ("a"): audience is missing"#,
                #"entry 3 ("a"): jwks_url or jwks_file is missing"#,
            ])
    }

    @Test(arguments: [
        "", "{", "[]", "7", #"{"issuers":{}}"#, #"{"issuers":[}"#, #"{"issuers":[]} x"#, #"{"issuers":null}"#,
    ])
    func otherTextIsNoList(text: String) {
        let list = IssuerList(text)
        #expect(list.issuers.isEmpty)
        #expect(
            list.problems.count == 1
                && list.problems.first?.hasPrefix("not a JSON object with the list issuers: ") == true)
    }

    @Test func otherMembersAreProblems() {
        #expect(IssuerList("{}").problems == ["the list issuers is missing"])
        #expect(IssuerList(#"{"issuer":[],"issuers":[]}"#).problems == [#""issuer" is not a field; there is issuers"#])
        #expect(IssuerList(#"{"issuers":[],"issuers":[\#(Self.shop)]}"#).problems == ["issuers is given twice"])
    }

    @Test func issuersAreLimited() {
        let entries = { (count: Int) in (0..<count).map { self.entry("audience", "\"i\($0)\"") }.joined(separator: ",")
        }
        #expect(read(entries(IssuerList.maximumIssuers)).issuers.count == IssuerList.maximumIssuers)
        let list = read(entries(IssuerList.maximumIssuers + 5))
        #expect(list.issuers.count == IssuerList.maximumIssuers)
        #expect(list.problems == ["there are more than \(IssuerList.maximumIssuers) issuers"])
    }

    @Test(arguments: [
        ("https://a.example/jwks", "a.example", 443, "/jwks"), ("https://a.example", "a.example", 443, "/"),
        ("https://a.example:8443/", "a.example", 8443, "/"), ("https://a.example/keys/", "a.example", 443, "/keys/"),
        ("https://a.example/keys?p=b/c&d=1", "a.example", 443, "/keys?p=b/c&d=1"),
        ("https://a.example?p", "a.example", 443, "/?p"),
        ("HTTPS://127.0.0.1/j", "127.0.0.1", 443, "/j"),
    ])
    func addressOfKeysIsRead(text: String, host: String, port: UInt16, target: String) throws {
        let url = try KeySetURL(parsing: text)
        #expect(url.address.host == host && url.address.port == port && url.target == target)
    }

    @Test(arguments: [
        "", "a.example/jwks", "http://a.example", "ftp://a.example", "https://", "https:///jwks",
        "https://a:b@a.example/",
        "https://a.example/#k", "https://a.example/a b", "https://a.example/\n", "https://a.example/é",
        "https://a.example:0/",
        "https://?p=a.example", "file:///jwks",
    ])
    func otherAddressIsRefused(text: String) {
        #expect(throws: SettingProblem.self) { try KeySetURL(parsing: text) }
    }

    /// A password in a URL is not repeated in a message.
    @Test func problemShowsNoPassword() {
        let list = read(entry("jwks_url", #""https://ann:sesame@a.example/""#))
        #expect(list.problems.count == 1 && !list.problems.joined().contains("sesame"))
    }
}
