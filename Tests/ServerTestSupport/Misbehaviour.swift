import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

/// One behaviour of a model server, and the required result.
struct Misbehaviour: CustomTestStringConvertible, Sendable {
    /// The server at the upstream's address.
    enum Peer: Sendable {
        case script([UpstreamStep])
        case refusing
        case hanging
        case silent
        case address(String)
    }

    /// The event, as a sentence.
    let testDescription: String
    let peer: Peer
    /// The text that the client sees and the store keeps.
    var text = ""
    let outcome: Transcript.Outcome
    /// Words that the error must pass on, or none.
    var words: String?
    /// The lines that the client must get verbatim; `nil` if only the text is checked.
    var lines: [String]?
    var environment: [Setting: String] = [:]

    init(
        _ description: String, _ peer: Peer, text: String = "", _ outcome: Transcript.Outcome, words: String? = nil,
        lines: [String]? = nil, environment: [Setting: String] = [:]
    ) {
        testDescription = description
        self.peer = peer
        self.text = text
        self.outcome = outcome
        self.words = words
        self.lines = lines
        self.environment = environment
    }

    /// A model server that streams these lines and ends in order.
    static func lines(
        _ description: String, _ lines: [String], text: String = "", _ outcome: Transcript.Outcome,
        words: String? = nil,
        environment: [Setting: String] = [:]
    ) -> Misbehaviour {
        Misbehaviour(
            description, .script(.lines(lines)), text: text, outcome, words: words,
            lines: outcome == .done ? lines.map { String($0.dropLast()) } : nil, environment: environment)
    }
}

private let hello = ModelLine.token("Hello")
private let world = ModelLine.token(" world")
private let done = ModelLine.done()
private let html = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

extension Misbehaviour {
    /// Before an answer begins.
    static let beforeTheAnswer: [Misbehaviour] = [
        Misbehaviour("no process listens", .refusing, .error("upstream_unavailable")),
        Misbehaviour(
            "the name has no address", .address("http://no-such-host.invalid:11434"), .error("upstream_unavailable")),
        Misbehaviour(
            "the connect hangs", .hanging, .error("upstream_connect_timeout"),
            environment: [.upstreamConnectTimeout: "300ms"]),
        Misbehaviour(
            "the connection is accepted without an answer", .silent, .error("upstream_first_byte_timeout"),
            environment: [.upstreamFirstByteTimeout: "300ms"]),
        Misbehaviour(
            "the request is read without an answer", .script([.stall]), .error("upstream_first_byte_timeout"),
            environment: [.upstreamFirstByteTimeout: "300ms"]),
        Misbehaviour(
            "the model is unknown, and the body has no newline", .script(.error(404, "model 'tiny' not found")),
            .error("model_not_found"), words: "model 'tiny' not found"),
        Misbehaviour(
            "500 with a reason", .script(.error(500, "option \"temperature\" must be of type float32")),
            .error("upstream_rejected"), words: "must be of type float32"),
        Misbehaviour(
            "400 with a reason", .script(.error(400, "invalid think value")), .error("upstream_rejected"),
            words: "invalid think value"),
        Misbehaviour(
            "503, the queue is full",
            .script(.error(503, "server busy, please try again.  maximum pending requests exceeded")),
            .error("upstream_busy"), words: "server busy"),
        Misbehaviour(
            "502 with a page of HTML", .script(.plain(502, html, type: "text/html")), .error("upstream_error")),
        Misbehaviour(
            "404 in plain text", .script(.plain(404, "404 page not found", type: "text/plain")),
            .error("upstream_rejected")),
        Misbehaviour(
            "200 with a page of HTML", .script(.plain(200, html, type: "text/html")), .error("upstream_malformed")),
        Misbehaviour(
            "a redirect", .script(.plain(302, "", fields: [("Location", "http://127.0.0.1:1/")])),
            .error("upstream_malformed")),
        Misbehaviour("200 with an empty body", .script(.plain(200, "")), .error("upstream_incomplete")),
        Misbehaviour(
            "200 with an empty chunked body", .script([.streamHead, .endChunks]), .error("upstream_incomplete")),
        Misbehaviour("closed instead of an answer", .script([.close]), .error("upstream_unavailable")),
        Misbehaviour("reset instead of an answer", .script([.reset]), .error("upstream_unavailable")),
        Misbehaviour(
            "bytes that are not HTTP", .script([.send("ERR unknown command\r\n\r\n"), .close]),
            .error("upstream_malformed")),
        Misbehaviour(
            "a head that never ends", .script([.send("HTTP/1.1 200 OK\r\n"), .forever([.send("A: b\r\n")])]),
            .error("upstream_malformed")),
        .lines(
            "an error in the first line", [ModelLine.error("model is broken")], .error("upstream_error"),
            words: "model is broken"),
    ]

    /// In the middle of an answer that fails.
    static let inTheMiddle: [Misbehaviour] = [
        .lines(
            "an error in the middle", [hello, ModelLine.error("unexpected EOF")], text: "Hello",
            .error("upstream_error"), words: "unexpected EOF"),
        Misbehaviour(
            "an error in the middle without a newline",
            .script([
                .streamHead, .chunk(hello),
                .chunk("{\"StatusCode\":500,\"Status\":\"Internal\",\"error\":\"remote gone\"}"), .endChunks,
            ]),
            text: "Hello", .error("upstream_error"), words: "remote gone"),
        .lines("a line of garbage", [hello, "garbage\n", world, done], text: "Hello", .error("upstream_malformed")),
        .lines("a line of other JSON", [hello, "[1,2]\n", done], text: "Hello", .error("upstream_malformed")),
        .lines(
            "a line that is cut", [hello, String(world.prefix(40)) + "\n", done], text: "Hello",
            .error("upstream_malformed")),
        Misbehaviour(
            "a line over the limit",
            .script([.streamHead, .chunk(hello), .forever([.chunk(String(repeating: "x", count: 1000))])]),
            text: "Hello", .error("upstream_malformed"), environment: [.upstreamLineLimit: "20000"]),
        .lines("an end without done", [hello, world], text: "Hello world", .error("upstream_incomplete")),
        Misbehaviour(
            "a body that is cut between chunks", .script([.streamHead, .chunk(hello), .closeWithoutFinishingChunks]),
            text: "Hello", .error("upstream_incomplete")),
        Misbehaviour(
            "a body that is cut within a chunk",
            .script([.streamHead, .chunk(hello), .send("ff\r\n{\"model\":"), .close]),
            text: "Hello", .error("upstream_incomplete")),
        Misbehaviour(
            "a length that is not reached",
            .script([.head(200, [("Content-Length", "9999")]), .send(hello), .close]), text: "Hello",
            .error("upstream_incomplete")),
        Misbehaviour(
            "a chunk size that is none", .script([.streamHead, .chunk(hello), .send("xyz\r\n")]), text: "Hello",
            .error("upstream_malformed")),
        Misbehaviour(
            "silence in the middle", .script([.streamHead, .chunk(hello), .stall]), text: "Hello",
            .error("upstream_silence_timeout"), environment: [.upstreamSilenceTimeout: "300ms"]),
    ]

    /// Unusual, and still an answer.
    static let unusual: [Misbehaviour] = [
        Misbehaviour(
            "every byte in a separate chunk", .script(.lines([hello, world, done], inChunksOf: 1)),
            text: "Hello world", .done, lines: [hello, world, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "every byte in a separate segment",
            .script([
                .sendSplit(
                    Array("HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n\(hello)\(world)\(done)".utf8),
                    piecesOf: 1), .close,
            ]), text: "Hello world", .done, lines: [hello, world, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "all lines in one chunk", .script([.streamHead, .chunk(hello + world + done), .endChunks]),
            text: "Hello world", .done, lines: [hello, world, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "a last line without a newline",
            .script([.streamHead, .chunk(hello), .chunk(String(done.dropLast())), .endChunks]),
            text: "Hello", .done, lines: [hello, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "CR LF as line ends and blank lines between",
            .script([.streamHead, .chunk(hello.dropLast() + "\r\n\r\n\n" + done.dropLast() + "\r\n"), .endChunks]),
            text: "Hello", .done, lines: [hello, done].map { String($0.dropLast()) }),
        .lines("a last line with text", [hello, ModelLine.done(content: "!")], text: "Hello!", .done),
        .lines("the older dialect", [hello, ModelLine.done(.v0_11)], text: "Hello", .done),
        .lines("an answer cut by its length", [hello, ModelLine.done(reason: "length")], text: "Hello", .done),
        .lines("an empty answer", [done], .done),
        .lines(
            "line separators as they are", [raw("a\u{2028}b\u{2029}c\u{85}d"), done],
            text: "a\u{2028}b\u{2029}c\u{85}d", .done),
        .lines("line separators escaped", [ModelLine.token("a\u{2028}b"), done], text: "a\u{2028}b", .done),
        Misbehaviour(
            "done twice", .script(.lines([hello, done, done])), text: "Hello", .done,
            lines: [hello, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "text after done", .script(.lines([hello, done, world])), text: "Hello", .done,
            lines: [hello, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "an endless body after done",
            .script([.streamHead, .chunk(hello), .chunk(done), .forever([.chunk(world)])]),
            text: "Hello", .done, lines: [hello, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "silence after done", .script([.streamHead, .chunk(hello), .chunk(done), .stall]),
            text: "Hello", .done, lines: [hello, done].map { String($0.dropLast()) }),
        Misbehaviour(
            "another content type",
            .script([
                .head(200, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")]), .chunk(hello),
                .chunk(done), .endChunks,
            ]),
            text: "Hello", .done, lines: [hello, done].map { String($0.dropLast()) }),
        .lines(
            "keys in another order",
            [
                "{\"done\":false,\"message\":{\"content\":\"x\",\"role\":\"assistant\"},\"created_at\":\"t\",\"model\":\"tiny\"}\n",
                done,
            ],
            text: "x", .done),
    ]

    static let all = beforeTheAnswer + inTheMiddle + unusual

    /// A token line with its text unescaped.
    private static func raw(_ text: String) -> String {
        ModelLine.token("TEXT").replacing("TEXT", with: text)
    }
}
