import ChatterdBasics
import Testing

@testable import ChatterdTools

/// The URLs of tools, with arguments of a model.
@Suite struct URLTemplateTests {
    private func target(_ template: String, _ arguments: String) throws -> String {
        let target = try URLTemplate(parsing: template).target(with: JSONSlice(Array(arguments.utf8)))
        return "\(target.origin) \(target.path)"
    }

    @Test(arguments: [
        ("https://a.example/v1/{x}", #"{"x":"Ann Arbor"}"#, "https://a.example /v1/Ann%20Arbor"),
        (
            "https://a.example/{x}?q={y}&n={z}", #"{"x":"p","y":"a&b=c#d","z":42.5}"#,
            "https://a.example /p?q=a%26b%3Dc%23d&n=42.5"
        ),
        ("https://a.example/?b={b}&none={n}", #"{"b":true}"#, "https://a.example /?b=true&none="),
        ("http://a.example:8080/{x}", #"{"x":"../../secret"}"#, "http://a.example:8080 /..%2F..%2Fsecret"),
        (
            "http://a.example/{x}", #"{"x":"//evil.example/\\r\n@%"}"#,
            "http://a.example /%2F%2Fevil.example%2F%5Cr%0A%40%25"
        ),
        ("http://a.example/{x}", #"{"x":"é"}"#, "http://a.example /%C3%A9"),
        ("http://a.example/{x}", #"{"x":"a","x":"b"}"#, "http://a.example /b"),
        ("{url}", #"{"url":"https://b.example/p?q=1#f"}"#, "https://b.example /p?q=1"),
        ("{url}", #"{"url":"HTTP://b.example"}"#, "http://b.example /"),
        ("{url}", #"{"url":"http://b.example?x"}"#, "http://b.example /?x"),
        ("{url}", #"{"url":"http://[::1]:8080/x"}"#, "http://[::1]:8080 /x"),
    ])
    func argumentIsAPartOfPathOrQuery(template: String, arguments: String, expected: String) throws {
        #expect(try target(template, arguments) == expected)
    }

    @Test(arguments: [
        ("http://a.example/{x}", #"{"x":".."}"#), ("http://a.example/{x}/y", #"{"x":"."}"#),
        ("http://a.example/items/{x}", "{}"), ("http://a.example/items/{x}", #"{"x":""}"#),
        ("http://a.example/{x}", #"{"x":{}}"#), ("http://a.example/{x}", #"{"x":["a"]}"#),
        ("{url}", #"{"url":"file:///etc/passwd"}"#), ("{url}", #"{"url":"gopher://a/"}"#),
        ("{url}", #"{"url":"a.example"}"#),
        ("{url}", #"{}"#), ("{url}", #"{"url":"http://user@a.example/"}"#),
        ("{url}", #"{"url":"http://a.example\\@b/"}"#),
        ("{url}", #"{"url":"http://a.example/ b"}"#), ("{url}", #"{"url":"http://a.example/\r\nX: y"}"#),
        ("{url}", #"{"url":"http:///x"}"#), ("{url}", #"{"url":"http://a.example:0/"}"#),
        ("{url}", #"{"url":"javascript://a/%0a"}"#),
        ("{url}", #"{"url":"http://ä.example/"}"#),
    ])
    func argumentThatIsNoPartIsRefused(template: String, arguments: String) throws {
        #expect(throws: UsageError.self) { try target(template, arguments) }
    }

    @Test(arguments: [
        "", "{", "}", "{}", "http://a.example", "http://{host}/", "{scheme}://a.example/", "http://a.example/{x",
        "http://a.example/x}",
        "http://a.example/{{x}}", "ftp://a.example/", "/path", "{a}{b}", "http://u:p@a.example/", "http://a.example:x/",
    ])
    func templateThatFixesNoServerIsRefused(template: String) {
        #expect(throws: UsageError.self) { try URLTemplate(parsing: template) }
    }

    @Test(
        arguments: [
            ("a.example", ["a.example"], true), ("A.Example", ["a.eXample"], true),
            ("b.a.example", ["a.example"], false),
            ("b.a.example", ["*.a.example"], true), ("a.example", ["*.a.example"], false),
            ("xa.example", ["*.a.example"], false),
            ("a.example.", ["a.example"], false), ("anything", ["*"], true), ("a.example", [], false),
        ] as [(String, [String], Bool)])
    func hostIsOneOfTheList(host: String, hosts: [String], isPermitted: Bool) {
        #expect(HTTPToolClient.permits(host, hosts) == isPermitted)
    }

    @Test(
        arguments: [
            ("", #"{"a":1}"#, #"{"a":1}"#), ("/a", #"{"a":{"b":[1,2]}}"#, #"{"b":[1,2]}"#),
            ("/a/b/1", #"{"a":{"b":[1,2]}}"#, "2"),
            ("/a~1b/m~0n", #"{"a/b":{"m~n":"x"}}"#, #""x""#), ("/~01", #"{"~1":true}"#, "true"),
            ("/a/", #"{"a":{"":null}}"#, "null"),
            ("/b", #"{"a":1}"#, nil), ("/a/0", #"{"a":1}"#, nil), ("/9", "[1]", nil), ("/-1", "[1]", nil),
            ("/9223372036854775807", "[1]", nil), ("/99999999999999999999", "[1]", nil),
        ] as [(String, String, String?)])
    func pointerNamesAPartOfTheAnswer(pointer: String, document: String, expected: String?) throws {
        let value = try JSONPointer(parsing: pointer).value(in: JSONSlice(Array(document.utf8)))
        #expect(value.map { String(decoding: $0.bytes, as: UTF8.self) } == expected)
    }
}
