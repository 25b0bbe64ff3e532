import ChatterdHTTP
import Testing

@Suite struct TargetTests {
    @Test(arguments: [
        ("/", "/"), ("/llmchat", "/llmchat"), ("/a%20b", "/a b"), ("/%c3%a4", "/ä"), ("/a%2Fb", "/a%2Fb"),
        ("/a%2fb", "/a%2Fb"), ("/%6clmchat", "/llmchat"), ("/a+b", "/a+b"), ("/a..b", "/a..b"), ("/%25", "/%"),
        ("//", "//"), ("/x?/../", "/x"), ("http://h", "/"), ("http://h/a%20b?c", "/a b"), ("http://h?x", "/"),
    ]) func pathIsDecodedForRouting(_ text: String, _ path: String) throws {
        #expect(try Target(text).path == path)
    }

    @Test func rawPathKeepsItsEscapes() throws {
        let target = try Target("/a%20b?c=%20")
        #expect(target.rawPath == "/a%20b")
        #expect(target.query == "c=%20")
        #expect(target.text == "/a%20b?c=%20")
        #expect(target.form == .origin)
    }

    @Test func absoluteTargetHasAnAuthority() throws {
        let target = try Target("https://h:1/x")
        #expect(target.form == .absolute)
        #expect(target.authority == "h:1")
    }

    @Test(arguments: ["", "x", "*", "/a b", "/\r\n", "/../", "/%", "/ä", "http://", "h:80"])
    func otherTextIsNoTarget(_ text: String) {
        #expect(throws: HTTPError.self) { try Target(text) }
    }

    @Test func queryItemIsDecodedAsFormsAre() throws {
        let target = try Target("/?a=1&b=x+y%26z&a=2&flag&=v&bad=%zz%4&u=%c3%a4&&e=")
        #expect(target.queryItem("a") == "1")
        #expect(target.queryItem("b") == "x y&z")
        #expect(target.queryItem("flag") == "")
        #expect(target.queryItem("") == "v")
        #expect(target.queryItem("bad") == "%zz%4")
        #expect(target.queryItem("u") == "ä")
        #expect(target.queryItem("e") == "")
        #expect(target.queryItem("missing") == nil)
        #expect(target.queryItems.map(\.name) == ["a", "b", "a", "flag", "", "bad", "u", "e"])
    }

    @Test(arguments: ["/", "/?"]) func targetWithoutQueryHasNoItems(_ text: String) throws {
        #expect(try Target(text).queryItems.isEmpty)
    }
}
