private func length(_ value: String, _ body: String = "") -> String {
    post("Content-Length: \(value)", body)
}

/// RFC 9110 section 8.6; RFC 9112 sections 6.2 and 6.3.
let lengthCases: [RequestCase] = [
    RequestCase("a length of zero", length("0"), "POST / @a content-length=0"),
    RequestCase("a length", length("5", "hello"), "POST / @a content-length=5 \"hello\""),
    RequestCase("a length with leading zeros", length("0005", "hello"), "POST / @a content-length=0005 \"hello\""),
    RequestCase(
        "a length with many leading zeros", length("000000000000000000000000005", "hello"),
        "POST / @a content-length=000000000000000000000000005 \"hello\""),
    RequestCase("a length with white space around", length(" 5 \t", "hello"), "POST / @a content-length=5 \"hello\""),
    RequestCase(
        "a length with GET", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
        "GET / @a content-length=2 \"hi\""),
    RequestCase(
        "a length in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
        "POST / 1.0 content-length=2 \"hi\""),
    RequestCase(
        "a body that looks like a request", length("18", "GET / HTTP/1.1\r\n\r\n"),
        "POST / @a content-length=18 \"GET / HTTP/1.1\r\n\r\n\""),
    RequestCase(
        "a body with all kinds of bytes", length("4", "\0\r\n\u{7F}"),
        "POST / @a content-length=4 \"\0\r\n\u{7F}\""),
    RequestCase("a body cut short", length("5", "hell"), "..."),
    RequestCase("a body that has not come", length("5"), "..."),
    RequestCase("a body longer than its length", length("2", "hiX"), "POST / @a content-length=2 \"hi\"", "..."),
    RequestCase(
        "a body without a length is another request", line("POST / HTTP/1.1") + "{}\r\n",
        "POST / @a", "! 400 malformedRequestLine"),

    RequestCase("the same length twice", get("Content-Length: 0", "Content-Length: 0"), "! 400 duplicateLength"),
    RequestCase("two lengths", get("Content-Length: 0", "Content-Length: 5"), "! 400 duplicateLength"),
    RequestCase(
        "two lengths in different case", get("content-length: 1", "CONTENT-LENGTH: 2"),
        "! 400 duplicateLength"),
    RequestCase("a list of lengths", length("5, 5", "hello"), "! 400 malformedLength"),
    RequestCase("a list of different lengths", length("5,6", "hello"), "! 400 malformedLength"),
    RequestCase("an empty length", length("", "hello"), "! 400 malformedLength"),
    RequestCase("a length with plus", length("+5", "hello"), "! 400 malformedLength"),
    RequestCase("a length with minus", length("-5", "hello"), "! 400 malformedLength"),
    RequestCase("minus zero", length("-0"), "! 400 malformedLength"),
    RequestCase("a length with spaces between", length("1 0", "hello"), "! 400 malformedLength"),
    RequestCase("a hexadecimal length", length("0x5", "hello"), "! 400 malformedLength"),
    RequestCase("a length with a letter", length("5a", "hello"), "! 400 malformedLength"),
    RequestCase("a length with a point", length("5.0", "hello"), "! 400 malformedLength"),
    RequestCase("a length with an exponent", length("1e2", "hello"), "! 400 malformedLength"),
    RequestCase("a length with an underscore", length("1_0", "hello"), "! 400 malformedLength"),
    RequestCase("a length in quotes", length("\"5\"", "hello"), "! 400 malformedLength"),
    RequestCase("a length with a parameter", length("5;q=1", "hello"), "! 400 malformedLength"),
    RequestCase("a length in other digits", length("\u{D9}\u{A5}", "hello"), "! 400 malformedLength"),
    RequestCase("a length of 2 to the 63", length("9223372036854775808"), "! 400 malformedLength"),
    RequestCase("a length of 2 to the 64 and five", length("18446744073709551621", "hello"), "! 400 malformedLength"),
    RequestCase("a length of forty digits", length(String(repeating: "9", count: 40)), "! 400 malformedLength"),
    RequestCase("the greatest length there is", length("9223372036854775807"), "! 413 bodyTooLarge"),
    RequestCase("a length over the limit", length("100001"), "! 413 bodyTooLarge"),
]
