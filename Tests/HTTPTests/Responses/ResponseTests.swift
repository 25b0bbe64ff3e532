import ChatterdHTTP
import Testing

/// Responses as real servers send them, and as they must not; RFC 9112 sections 4 and 6.3.
@Suite struct ResponseTests {
    static let cases: [ResponseCase] = [
        ResponseCase("length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "200 content-length=2 \"hi\""),
        ResponseCase(
            "chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "200 transfer-encoding=chunked \"hi\""),
        ResponseCase("until close", "HTTP/1.1 200 OK\r\n\r\nhi\r\n", "200 \"hi\r\n\""),
        ResponseCase("until close in HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhi", "200 \"hi\""),
        ResponseCase("until close without a body", "HTTP/1.1 200 OK\r\n\r\n", "200"),
        ResponseCase("an empty reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 content-length=0"),
        ResponseCase("no reason and no space", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 content-length=0"),
        ResponseCase(
            "a reason of several words", "HTTP/1.1 404 Not  Found\t!\r\nContent-Length: 0\r\n\r\n",
            "404 content-length=0"),
        ResponseCase(
            "a reason in Latin-1", "HTTP/1.1 404 Nicht gefund\u{E9}n\r\nContent-Length: 0\r\n\r\n",
            "404 content-length=0"),
        ResponseCase(
            "a code outside the classes", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", "999 content-length=0"),
        ResponseCase("204", "HTTP/1.1 204 No Content\r\n\r\n", "204"),
        ResponseCase(
            "204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "204 content-length=5"),
        ResponseCase(
            "304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 content-length=5"),
        ResponseCase("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", to: .head, "200 content-length=5"),
        ResponseCase(
            "HEAD with chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", to: .head,
            "200 transfer-encoding=chunked"),
        ResponseCase(
            "100 before the answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "100 200 content-length=2 \"hi\""),
        ResponseCase(
            "103 with fields", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            "103 link=x 204"),
        ResponseCase(
            "bytes after the end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1",
            "200 content-length=2 \"hi\" +8"),
        ResponseCase("bytes after 204", "HTTP/1.1 204 No Content\r\n\r\nhi", "204 +2"),
        ResponseCase(
            "the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
            "200 content-length=2 content-length=2 \"hi\""),
        ResponseCase(
            "a line of Ollama",
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nDate: Sat, 11 Oct 2025 10:00:00 GMT\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n1f\r\n{\"message\":{\"content\":\"Hello\"}}\r\n0\r\n\r\n",
            "200 content-type=application/x-ndjson date=Sat, 11 Oct 2025 10:00:00 GMT transfer-encoding=chunked "
                + "\"{\"message\":{\"content\":\"Hello\"}}\""),

        ResponseCase(
            "two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", "! duplicateLength"),
        ResponseCase("a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n", "! malformedLength"),
        ResponseCase("a length with minus", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "! malformedLength"),
        ResponseCase(
            "length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            "! lengthAndEncoding"),
        ResponseCase(
            "an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "! unknownTransferCoding"),
        ResponseCase(
            "chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "! malformedTransferEncoding"
        ),
        ResponseCase("a body cut short", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "! truncated"),
        ResponseCase(
            "chunks cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "! truncated"),
        ResponseCase(
            "chunks cut before the last line end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            "! truncated"),
        ResponseCase("a head cut short", "HTTP/1.1 200 OK\r\nContent-", "! truncated"),
        ResponseCase("only an interim head", "HTTP/1.1 100 Continue\r\n\r\n", "! truncated"),
        ResponseCase("no bytes", "", "! truncated"),
        ResponseCase("HTTP/2", "HTTP/2 200\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", "! unsupportedVersion"),
        ResponseCase("another protocol", "ICY 200 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a TLS alert", "\u{15}\u{03}\u{01}\0\u{02}", "! controlByte"),
        ResponseCase("a page without a head", "<!DOCTYPE html>\r\n", "! malformedStatusLine"),
        ResponseCase("an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("two spaces before the code", "HTTP/1.1  200 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a code of two digits", "HTTP/1.1 20 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a code of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a code below one hundred", "HTTP/1.1 099 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a code with a sign", "HTTP/1.1 +20 OK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a code and a tab", "HTTP/1.1 200\tOK\r\n\r\n", "! malformedStatusLine"),
        ResponseCase("a reason with NUL", "HTTP/1.1 200 O\0K\r\n\r\n", "! controlByte"),
        ResponseCase("lines that end with LF", "HTTP/1.1 200 OK\n\n", "! bareLineFeed"),
        ResponseCase("a folded field", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "! foldedField"),
        ResponseCase("a space before the colon", "HTTP/1.1 200 OK\r\nX : a\r\n\r\n", "! malformedFieldName"),
        ResponseCase(
            "a status line without an end", "HTTP/1.1 200 " + String(repeating: "x", count: 8180), "! headTooLarge"),
    ]

    @Test(arguments: cases.indices) func responseIsReadHoweverItArrives(_ index: Int) {
        let vector = ResponseTests.cases[index]
        #expect(vector.read(cutAt: []) == vector.result, "\(vector.name), whole")
        #expect(vector.read(cutAt: Cuts.everywhere(in: vector.bytes.count)) == vector.result, "\(vector.name), by byte")
        let wrong = Cuts.halves(of: vector.bytes.count).first { vector.read(cutAt: [$0]) != vector.result }
        #expect(wrong == nil, "\(vector.name), in two pieces")
    }
}
