import Testing

/// Bytes of one or more requests, and the transcript that reading them must give, however they arrive.
struct RequestCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let transcript: [String]

    /// Each scalar of `text` is one byte, so that bytes from 0x80 on can be written as `\u{80}`.
    init(_ name: String, _ text: String, _ transcript: String...) {
        self.name = name
        bytes = latin1(text)
        self.transcript = transcript
    }

    var testDescription: String { name }
}

func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// A GET request with the given field lines after Host.
func get(_ lines: String...) -> String {
    "GET / HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
}

/// A request with the given request line and a Host.
func line(_ line: String) -> String {
    line + "\r\nHost: a\r\n\r\n"
}

/// A GET request of HTTP/1.1 with the given target and a Host.
func target(_ target: String) -> String {
    line("GET \(target) HTTP/1.1")
}

/// A POST request with one field line and a body.
func post(_ field: String, _ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n\(body)"
}

/// A POST request with a chunked body.
func chunked(_ body: String) -> String {
    post("Transfer-Encoding: chunked", body)
}
