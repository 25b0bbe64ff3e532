import ChatterdHTTP

/// The bytes of one response, the end of the connection, and the expected reading of a client.
struct ResponseCase: Sendable {
    let name: String
    let method: Method
    let bytes: [UInt8]
    let result: String

    init(_ name: String, _ text: String, to method: Method = .get, _ result: String) {
        self.name = name
        self.method = method
        bytes = latin1(text)
        self.result = result
    }

    /// The reading of a client when the bytes arrive in pieces, split at the given positions.
    ///
    /// `200 name=value ... "body"`, then `+n` for bytes that belong to the next message; or `! code`.
    func read(cutAt cuts: some Sequence<Int>) -> String {
        var reader = ResponseReader(method: method)
        do throws(HTTPError) {
            var start = 0
            for cut in cuts {
                try reader.receive(bytes[start..<cut])
                start = cut
            }
            try reader.receive(bytes[start...])
            return try reader.finish()
        } catch {
            return "! \(error.code.rawValue)"
        }
    }
}

/// Reads one response as a client does.
struct ResponseReader {
    let method: Method
    private var unread: [UInt8] = []
    private var parser = ResponseHeadParser()
    private var decoder: BodyDecoder?
    private var text = ""
    private var body: [UInt8] = []

    init(method: Method) {
        self.method = method
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(HTTPError) {
        unread.append(contentsOf: bytes)
        while decoder == nil {
            let bytes = unread
            guard let head = try parser.parse(bytes.span) else { return }
            unread.removeFirst(parser.consumed)
            text += text.isEmpty ? "\(head.status.code)" : " \(head.status.code)"
            for field in head.fields {
                text += " \(field.name)=\(field.value)"
            }
            if head.status.isInformational {
                parser = ResponseHeadParser()
            } else {
                decoder = try BodyDecoder(framing: .ofResponse(head, to: method), limits: .streamed)
            }
        }
        guard var decoder else { return }
        var index = 0
        scan: while true {
            switch try decoder.next(unread.span, from: &index) {
            case .data(let range): body.append(contentsOf: unread[range])
            case .more, .end: break scan
            }
        }
        unread.removeFirst(index)
        self.decoder = decoder
    }

    mutating func finish() throws(HTTPError) -> String {
        guard var decoder else { throw HTTPError(.truncated) }
        try decoder.endOfInput()
        let rest = unread.isEmpty ? "" : " +\(unread.count)"
        return text + (body.isEmpty ? "" : " \"\(String(decoding: body, as: UTF8.self))\"") + rest
    }
}
