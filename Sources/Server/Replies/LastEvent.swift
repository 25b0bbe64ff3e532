import ChatterdBasics
import ChatterdLanguageModels
import ChatterdRelay

/// The data of the event with the ending of a reply.
struct LastEvent {
    /// A JSON object on one line.
    let data: [UInt8]
    /// The error; `nil` if the event is no `error` event.
    let error: RelayError?

    init(of ending: ReplyEnding) {
        data = ending.lastEvent
        error = ending.isError ? ending.cause ?? Self.error(in: ending.lastEvent.span) : nil
    }

    /// An `error` event that both generations of the course's clients can parse.
    init(_ error: RelayError, model: String) {
        var data = ByteBuffer()
        ReplyEvents(model: model).appendError(error, at: WallClock.nanoseconds(), to: &data)
        self.data = data.array
        self.error = error
    }

    private static func error(in data: Span<UInt8>) -> RelayError {
        var code = RelayError.Code.internal
        var message = "The answer broke off here."
        JSONMembers.forEach(of: data) { reader, key, value in
            let text = data.extracting(value)
            guard text[0] == UInt8(ascii: "\"") else { return }
            if reader.matches(key, "error") {
                message = String(decodingJSON: text.extracting(1..<text.count - 1))
            } else if reader.matches(key, "code") {
                let name = String(decodingJSON: text.extracting(1..<text.count - 1))
                code = RelayError.Code.all.first { $0.rawValue == name } ?? code
            }
        }
        return RelayError(code, message)
    }
}
