import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport

/// A way to split and spell the bytes of an answer.
enum Framing: CaseIterable, Sendable {
    case anEventAChunk
    case allInOneChunk
    case chunksOfOneByte
    case chunksOfThreeBytes
    case chunksOfHundredBytes
    case aLength
    case toTheEndOfTheConnection
    case segmentsOfOneByte
    case carriageReturnsToo
    case carriageReturnsOnly
    case aByteOrderMark
    case comments
    case noSpaces
    case otherFields
    case dataOverSeveralLines
    case blankLines
    case noLastLineEnd

    /// The steps of the server; `nil` if the format has no such framing.
    func steps(_ events: [String], by writer: any ServerWriter) -> [UpstreamStep]? {
        let isEventStream = writer.kind != .ollama
        let whole = events.joined()
        switch self {
        case .anEventAChunk: return chunked(events, writer)
        case .allInOneChunk: return chunked([whole], writer)
        case .chunksOfOneByte: return cut(whole, 1, writer)
        case .chunksOfThreeBytes: return cut(whole, 3, writer)
        case .chunksOfHundredBytes: return cut(whole, 100, writer)
        case .aLength: return .plain(200, whole, type: writer.contentType)
        case .toTheEndOfTheConnection:
            return [.send("HTTP/1.0 200 OK\r\nContent-Type: \(writer.contentType)\r\n\r\n\(whole)"), .close]
        case .segmentsOfOneByte:
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: \(writer.contentType)\r\nContent-Length: \(whole.utf8.count)\r\n\r\n"
            return [.sendSplit(Array((head + whole).utf8), piecesOf: 1)]
        case .carriageReturnsToo: return chunked(events.map { $0.replacing("\n", with: "\r\n") }, writer)
        case .carriageReturnsOnly:
            return isEventStream ? chunked(events.map { $0.replacing("\n", with: "\r") }, writer) : nil
        case .aByteOrderMark: return isEventStream ? chunked(["\u{FEFF}"] + events, writer) : nil
        case .comments:
            return isEventStream ? chunked(events.flatMap { [": ping\n\n", ":\n", $0] } + [": end\n\n"], writer) : nil
        case .noSpaces:
            return isEventStream ? chunked(events.map { $0.replacing("data: ", with: "data:") }, writer) : nil
        case .otherFields:
            return isEventStream
                ? chunked(events.map { "id: 5\nevent: message\nretry: 10\nnonsense\n\($0)" }, writer) : nil
        case .dataOverSeveralLines:
            // Between members, where white space has no effect.
            let broken = events.map {
                $0.replacing(",\"object\"", with: ",\ndata: \"object\"").replacing(
                    ",\"event\"", with: ",\ndata:\"event\"")
            }
            return isEventStream ? chunked(broken, writer) : nil
        case .blankLines: return chunked(["\n\n"] + events.flatMap { [$0, "\n"] }, writer)
        case .noLastLineEnd:
            return chunked(
                events.dropLast() + [String(events.last?.drop { $0 == "\n" }.dropLast(isEventStream ? 2 : 1) ?? "")],
                writer)
        }
    }

    private func chunked(_ pieces: [String], _ writer: any ServerWriter) -> [UpstreamStep] {
        [writer.head] + pieces.filter { !$0.isEmpty }.map { .chunk($0) } + [.endChunks]
    }

    private func cut(_ text: String, _ size: Int, _ writer: any ServerWriter) -> [UpstreamStep] {
        let bytes = Array(text.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map {
            UpstreamStep.chunk(Array(bytes[$0..<min($0 + size, bytes.count)]))
        }
        return [writer.head] + pieces + [.endChunks]
    }
}
