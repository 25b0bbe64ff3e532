import ChatterdHTTP

/// Reads pipelined requests as a server does, and records one line for each request.
struct RequestDriver {
    static let bodyLimit = 100_000

    private enum Phase {
        case head(RequestHeadParser)
        case body(String, BodyDecoder, [UInt8])
        case failed
    }

    private var unread: [UInt8] = []
    private var phase = Phase.head(RequestHeadParser())
    private(set) var transcript: [String] = []

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        unread.append(contentsOf: bytes)
        do throws(HTTPError) {
            while try step() {}
        } catch {
            transcript.append("! \(error.status.code) \(error.code.rawValue)")
            phase = .failed
        }
    }

    /// Ends the input. An incomplete request is recorded as three dots.
    mutating func finish() {
        switch phase {
        case .head where unread.isEmpty, .failed: break
        case .head, .body: transcript.append("...")
        }
    }

    private mutating func step() throws(HTTPError) -> Bool {
        switch phase {
        case .failed:
            return false
        case .head(var parser):
            guard !unread.isEmpty, let head = try parser.parse(unread.span) else {
                phase = .head(parser)
                return false
            }
            unread.removeFirst(parser.consumed)
            var limits = BodyLimits()
            limits.body = RequestDriver.bodyLimit
            let decoder = try BodyDecoder(framing: .ofRequest(head), limits: limits)
            phase = .body(describe(head), decoder, [])
            return true
        case .body(let head, var decoder, var body):
            var index = 0
            while true {
                switch try decoder.next(unread.span, from: &index) {
                case .data(let range):
                    body.append(contentsOf: unread[range])
                case .more:
                    unread.removeAll()
                    phase = .body(head, decoder, body)
                    return false
                case .end:
                    unread.removeFirst(index)
                    phase = .head(RequestHeadParser())
                    transcript.append(head + (body.isEmpty ? "" : " \"\(String(decoding: body, as: UTF8.self))\""))
                    return !unread.isEmpty
                }
            }
        }
    }

    /// `GET /path @host name=value ...`; HTTP/1.0 is named, Host is left out of the fields.
    private func describe(_ head: RequestHead) -> String {
        var text = "\(head.method) \(head.target)"
        if head.version == .http10 {
            text += " 1.0"
        }
        if let host = head.host {
            text += " @\(host)"
        }
        for field in head.fields where field.name != .host {
            text += " \(field.name)=\(field.value)"
        }
        return text
    }
}

extension RequestDriver {
    /// The transcript of bytes that arrive in pieces, which are cut at the given positions.
    static func transcript(of bytes: [UInt8], cutAt cuts: some Sequence<Int>) -> [String] {
        var driver = RequestDriver()
        var start = 0
        for cut in cuts {
            driver.receive(bytes[start..<cut])
            start = cut
        }
        driver.receive(bytes[start...])
        driver.finish()
        return driver.transcript
    }
}
