import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay

@testable import ChatterdChat
@testable import ChatterdModelServers
@testable import ChatterdPostgresStore

/// A reader of what peers send. `script/test fuzz` gives each one a minute of libFuzzer's inputs.
///
/// A reader fails if the process ends (a trap, an overflow, a range outside of its bytes), or if `read` returns another text for the
/// pieces of an input than for the whole.
enum FuzzTarget: String, CaseIterable, Sendable {
    case requestHead = "request-head"
    case responseHead = "response-head"
    case chunks
    case events
    case ollama
    case openAI = "openai"
    case llamaStack = "llamastack"
    case serverError = "server-error"
    case request
    case doors
    case conversationFile = "conversation-file"
    case positions
    case tokens

    /// Reads an input that arrives in pieces, which end at `ends`, the last one at its end. Returns what was read, as a text.
    func read(_ bytes: [UInt8], piecesUpTo ends: [Int]) -> String {
        switch self {
        case .requestHead: Self.requestHead(bytes, ends)
        case .responseHead: Self.responseHead(bytes, ends)
        case .chunks: Self.chunks(bytes, ends)
        case .events: Self.events(bytes, ends)
        case .ollama: Self.answer(OllamaDecoder(model: "m", limits: Self.limits) { 0 }, bytes, ends)
        case .openAI: Self.answer(OpenAIDecoder(model: "m", limits: Self.limits) { 0 }, bytes, ends)
        case .llamaStack: Self.answer(LlamaStackDecoder(model: "m", limits: Self.limits) { 0 }, bytes, ends)
        case .serverError: Self.serverError(bytes)
        case .request: Self.request(bytes)
        case .doors: Self.doors(bytes)
        case .conversationFile: Self.conversationFile(bytes)
        case .positions: Self.positions(bytes)
        case .tokens: Self.tokens(bytes)
        }
    }

    private static let limits = GenerationLimits()

    // MARK: - HTTP

    private static func requestHead(_ bytes: [UInt8], _ ends: [Int]) -> String {
        var parser = RequestHeadParser()
        return head(bytes, ends) { bytes throws(HTTPError) in
            guard let head = try parser.parse(bytes) else { return nil }
            let framing = (try? BodyFraming.ofRequest(head)).map { "\($0)" } ?? "none"
            return "\(head) \(parser.consumed) \(framing)"
        }
    }

    private static func responseHead(_ bytes: [UInt8], _ ends: [Int]) -> String {
        var parser = ResponseHeadParser()
        return head(bytes, ends) { bytes throws(HTTPError) in try parser.parse(bytes).map { "\($0)" } }
    }

    /// Reads growing beginnings of an input until `parse` has a head.
    private static func head(
        _ bytes: [UInt8], _ ends: [Int], _ parse: (Span<UInt8>) throws(HTTPError) -> String?
    ) -> String {
        do throws(HTTPError) {
            for end in ends {
                if let head = try parse(bytes.span.extracting(..<end)) { return head }
            }
            return "more"
        } catch {
            return "\(error.code)"
        }
    }

    private static func chunks(_ bytes: [UInt8], _ ends: [Int]) -> String {
        var data = ByteBuffer()
        var start = 0
        do throws(HTTPError) {
            var decoder = try BodyDecoder(framing: .chunked)
            for end in ends where !decoder.isComplete {
                var index = 0
                _ = try decoder.copyData(of: bytes.span.extracting(start..<end), from: &index, to: &data)
                if decoder.isComplete { return "\(data.array) \(start + index)" }
                start = end
            }
            try decoder.endOfInput()
            return "\(data.array)"
        } catch {
            return "\(data.array) \(error.code)"
        }
    }

    private static func events(_ bytes: [UInt8], _ ends: [Int]) -> String {
        var decoder = EventDecoder(readsErrorField: true)
        var text = ""
        var start = 0
        do throws(HTTPError) {
            for end in ends {
                let piece = bytes.span.extracting(start..<end)
                var index = 0
                while try decoder.next(piece, from: &index) {
                    text += "\(decoder.name) \(decoder.data.array) \(decoder.lastEventID)\n"
                }
                start = end
            }
            return "\(text) \(String(describing: decoder.retry)) \(decoder.isInsideEvent)"
        } catch {
            return "\(text) \(error.code)"
        }
    }

    // MARK: - Model servers

    private static func answer(_ decoder: any AnswerDecoder, _ bytes: [UInt8], _ ends: [Int]) -> String {
        var text = ""
        var isOver = false
        func take(_ lines: borrowing LineRun) -> Bool {
            for index in 0..<lines.count {
                let line = lines.line(at: index)
                let fields = lines.fields(at: index)
                for part in [fields.content, fields.thinking, fields.doneReason, fields.createdAt].compactMap(\.self) {
                    _ = String(decodingJSON: line.extracting(part.range))
                }
                text += "\(line.array) \(fields.promptTokens ?? -1) \(fields.answerTokens ?? -1)\n"
            }
            isOver = isOver || lines.isDone
            return !isOver
        }
        var start = 0
        do throws(ModelError) {
            for end in ends where !isOver {
                _ = try decoder.read(bytes.span.extracting(start..<end), take)
                start = end
            }
            if !isOver { try decoder.finish(take) }
            return text
        } catch {
            return "\(text) \(error.code)"
        }
    }

    private static func serverError(_ bytes: [UInt8]) -> String {
        let body = UpstreamErrorBody(bytes.span)
        let numbers = ContextNumbers(in: String(decoding: bytes, as: UTF8.self))
        return "\(body) \(numbers)"
    }

    // MARK: - Clients

    private static func request(_ bytes: [UInt8]) -> String {
        let request = try? ChatRequest(decoding: bytes.span)
        let regeneration = try? RegenerationRequest(decoding: bytes.span)
        let change = try? ConversationChange(decoding: bytes.span)
        return "\(request as Any) \(regeneration as Any) \(change as Any)"
    }

    private static func doors(_ bytes: [UInt8]) -> String {
        var text = ""
        for endpoint in Door.allCases.flatMap(\.dialect.endpoints) {
            switch endpoint.operation {
            case .ask(let translator), .count(let translator):
                text += "\((try? translator.request(bytes, .lenient)) as Any)"
            case .translate(let translator):
                text += "\((try? translator.ollamaBody(of: bytes, asking: "m")) as Any)"
            default:
                break
            }
        }
        return text
    }

    private static func conversationFile(_ bytes: [UInt8]) -> String {
        var text = ""
        for isPiece in [false, true] {
            var reader = ConversationFileReader(isPiece: isPiece)
            do throws(RelayError) {
                try reader.read(bytes.span) { text += "\($0)\n" }
            } catch {
                text += error.message
            }
        }
        return text
    }

    private static func positions(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        if let position = FeedPosition(parsing: text) {
            precondition(FeedPosition(parsing: position.text) == position)
        }
        if let position = CataloguePosition(parsing: text) {
            precondition(CataloguePosition(parsing: position.text)?.text == position.text)
        }
        return
            "\(ReplyPosition(parsing: text) as Any) \(ReplyID(parsing: text) as Any) \(ConversationKey(parsing: text))"
    }

    private static func tokens(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let token = try? JSONWebToken(parsing: text)
        let keys = try? JSONWebKeySet(parsing: bytes)
        return "\(token as Any) \(keys as Any) \(AppKeyText(parsing: text) as Any)"
    }
}
