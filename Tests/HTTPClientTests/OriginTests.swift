import ChatterdHTTPClient
import Testing

@Suite(.timeLimit(.minutes(30))) struct OriginTests {
    @Test(arguments: [
        ("http://127.0.0.1:11434", "127.0.0.1", 11434, "127.0.0.1:11434", ""),
        ("http://127.0.0.1:11434/", "127.0.0.1", 11434, "127.0.0.1:11434", ""),
        ("HTTP://models.example", "models.example", 80, "models.example", ""),
        ("https://models.example", "models.example", 443, "models.example", ""),
        ("https://models.example:8443/base/path//", "models.example", 8443, "models.example:8443", "/base/path"),
        ("http://[::1]:11434/v1", "::1", 11434, "[::1]:11434", "/v1"),
        ("http://[fe80::1]", "fe80::1", 80, "[fe80::1]", ""),
    ])
    func urlIsParsed(url: String, host: String, port: Int, authority: String, basePath: String) throws {
        let origin = try Origin(parsing: url)
        #expect(origin.host == host)
        #expect(Int(origin.port) == port)
        #expect(origin.authority == authority)
        #expect(origin.basePath == basePath)
    }

    @Test func schemeIsParsed() throws {
        #expect(try Origin(parsing: "http://a").scheme == .http)
        #expect(try Origin(parsing: "hTTps://a").scheme == .https)
    }

    @Test(arguments: [
        "", "127.0.0.1:11434", "localhost", "ftp://a", "://a", "http://", "http:///x", "http://:80", "http://a:",
        "http://a:0", "http://a:65536", "http://a:8o", "http://a:-1", "http://a:+1", "http://user:secret@a",
        "http://a/?key=secret", "http://a#secret", "http://::1", "http://[::1", "http://a b", "http://a/b c",
        "http://a\r\nX: y",
        "http://a/../b", "http://a/%zz", "http://[]:80", "http://[x]",
    ])
    func unusableURLIsRefusedWithoutBeingRepeated(url: String) {
        let error = #expect(throws: HTTPClientError.self) { try Origin(parsing: url) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains("secret") == false)
        #expect(error?.message.contains("for example http://127.0.0.1:11434") == true)
    }
}
