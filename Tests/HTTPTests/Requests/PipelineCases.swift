private let hello = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
private let hi = chunked("2\r\nhi\r\n0\r\n\r\n")

/// RFC 9112 section 9.3.2: one message ends where the next begins.
let pipelineCases: [RequestCase] = [
    RequestCase("two requests", target("/1") + target("/2"), "GET /1 @a", "GET /2 @a"),
    RequestCase(
        "five requests", String(repeating: target("/"), count: 5),
        "GET / @a", "GET / @a", "GET / @a", "GET / @a", "GET / @a"),
    RequestCase("a request after a body", hello + target("/2"), "POST / @a content-length=5 \"hello\"", "GET /2 @a"),
    RequestCase("a request after chunks", hi + target("/2"), "POST / @a transfer-encoding=chunked \"hi\"", "GET /2 @a"),
    RequestCase(
        "a request after a trailer", chunked("0\r\nX: y\r\n\r\n") + target("/2"),
        "POST / @a transfer-encoding=chunked", "GET /2 @a"),
    RequestCase(
        "chunks, a body, no body", hi + hello + target("/"),
        "POST / @a transfer-encoding=chunked \"hi\"", "POST / @a content-length=5 \"hello\"", "GET / @a"),
    RequestCase(
        "an empty line between requests", hello + "\r\n" + target("/2"),
        "POST / @a content-length=5 \"hello\"", "GET /2 @a"),
    RequestCase(
        "two empty lines between requests", hello + "\r\n\r\n" + target("/2"),
        "POST / @a content-length=5 \"hello\"", "! 400 malformedRequestLine"),
    RequestCase("an empty line after the last request", hello + "\r\n", "POST / @a content-length=5 \"hello\"", "..."),
    RequestCase("a broken request after a good one", target("/1") + "GET /2\n", "GET /1 @a", "! 400 bareLineFeed"),
    RequestCase("no byte is read after a broken request", "BAD\r\n\r\n" + target("/"), "! 400 malformedRequestLine"),
    RequestCase("a request that has begun after a good one", target("/1") + "GET /2 HT", "GET /1 @a", "..."),
    RequestCase(
        "a length of zero before a request", post("Content-Length: 0", target("/2")),
        "POST / @a content-length=0", "GET /2 @a"),
    RequestCase(
        "an HTTP/1.0 request before another", "GET /1 HTTP/1.0\r\n\r\n" + target("/2"), "GET /1 1.0", "GET /2 @a"),
    RequestCase("HEAD before a request", line("HEAD / HTTP/1.1") + target("/2"), "HEAD / @a", "GET /2 @a"),
    RequestCase(
        "a smuggled request behind length and chunks",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG" + target("/"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "a request smuggled in an extension",
        chunked("2;a=\"\r\nhi\r\n0\r\n\r\n" + target("/evil")), "! 400 malformedChunkExtension"),
    RequestCase(
        "an upgrade is a request like others", get("Connection: Upgrade", "Upgrade: h2c"),
        "GET / @a connection=Upgrade upgrade=h2c"),
    RequestCase(
        "an expectation is a field like others", post("Expect: 100-continue", ""),
        "POST / @a expect=100-continue"),
    RequestCase(
        "a real request of curl",
        "POST /llmchat HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
            + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "POST /llmchat @localhost:8080 user-agent=curl/7.88.1 accept=*/* content-type=application/json "
            + "content-length=2 \"{}\""),
    RequestCase(
        "a real request of OkHttp",
        "POST /llmchat HTTP/1.1\r\nContent-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
            + "Host: a\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\nUser-Agent: okhttp/4.12.0\r\n\r\n"
            + "2\r\n{}\r\n0\r\n\r\n",
        "POST /llmchat @a content-type=application/json; charset=utf-8 transfer-encoding=chunked "
            + "connection=Keep-Alive accept-encoding=gzip user-agent=okhttp/4.12.0 \"{}\""),
]
