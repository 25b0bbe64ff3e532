import ChatterdServer

/// An event that `chatterd serve` waits for.
enum ServeEvent: Sendable {
    /// The start has ended.
    case started(Result<Application, StartError>)
    /// The process received the signal of this number.
    case signal(Int32)
    /// The server has stopped.
    case stopped
}
