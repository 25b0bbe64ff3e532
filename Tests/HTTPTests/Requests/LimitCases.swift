private func x(_ count: Int) -> String {
    String(repeating: "x", count: count)
}

private func fields(_ count: Int) -> String {
    "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: count - 1) + "\r\n"
}

private func chunks(_ count: Int, _ chunk: String) -> String {
    chunked(String(repeating: chunk, count: count) + "0\r\n\r\n")
}

/// The default limits, each with one input at the limit and one a byte over it. The latter have no line end, because the parser must not
/// wait for it.
let limitCases: [RequestCase] = [
    RequestCase("a request line of 8192 bytes", target("/" + x(8178)), "GET /" + x(8178) + " @a"),
    RequestCase("a request line of 8193 bytes", target("/" + x(8179)), "! 414 requestLineTooLong"),
    RequestCase("a request line without an end", "GET /" + x(8188), "! 414 requestLineTooLong"),
    RequestCase("a method without an end", x(8193), "! 414 requestLineTooLong"),
    RequestCase("a field line of 16384 bytes", get("X: " + x(16381)), "GET / @a x=" + x(16381)),
    RequestCase("a field line of 16385 bytes", get("X: " + x(16382)), "! 431 fieldTooLarge"),
    RequestCase("a field line without an end", "GET / HTTP/1.1\r\nX: " + x(16382), "! 431 fieldTooLarge"),
    RequestCase("a field name without an end", "GET / HTTP/1.1\r\n" + x(16385), "! 431 fieldTooLarge"),
    RequestCase(
        "a head of 32768 bytes", get("A: " + x(16381), "B: " + x(16350)),
        "GET / @a a=" + x(16381) + " b=" + x(16350)),
    RequestCase("a head of 32769 bytes", get("A: " + x(16381), "B: " + x(16351)), "! 431 headTooLarge"),
    RequestCase(
        "a head without an end", "GET / HTTP/1.1\r\nA: " + x(16381) + "\r\nB: " + x(16370), "! 431 headTooLarge"),
    RequestCase("a hundred fields", fields(100), "GET / @a" + String(repeating: " x=y", count: 99)),
    RequestCase("a hundred and one fields", fields(101), "! 431 tooManyFields"),
    RequestCase(
        "a body of the limit", post("Content-Length: 100000", x(100_000)),
        "POST / @a content-length=100000 \"" + x(100_000) + "\""),
    RequestCase(
        "a chunk line of the limit", chunked("1;" + x(254) + "\r\nh\r\n0\r\n\r\n"),
        "POST / @a transfer-encoding=chunked \"h\""),
    RequestCase("a chunk line over the limit", chunked("1;" + x(255)), "! 400 chunkOverhead"),
    RequestCase(
        "a thousand chunks of one byte", chunks(1000, "1\r\nx\r\n"),
        "POST / @a transfer-encoding=chunked \"" + x(1000) + "\""),
    RequestCase(
        "chunks of one byte with long extensions", chunks(1000, "1;aaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n"),
        "! 400 chunkOverhead"),
    RequestCase(
        "a trailer of the limit", chunked("0\r\nX:" + x(8188) + "\r\n\r\n"),
        "POST / @a transfer-encoding=chunked"),
    RequestCase("a trailer over the limit", chunked("0\r\nX:" + x(8191)), "! 431 trailerTooLarge"),
    RequestCase(
        "many trailers over the limit", chunked("0\r\n" + String(repeating: "X:\r\n", count: 2049)),
        "! 431 trailerTooLarge"),
]
