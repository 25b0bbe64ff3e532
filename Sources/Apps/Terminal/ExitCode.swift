import ChatterClient

/// The status of the program, by cause.
enum ExitCode: Int32, CaseIterable {
    case done = 0
    case failed = 1
    case usage = 2
    case unreachable = 3
    case unauthorized = 4
    case busy = 5
    case modelFailed = 6
    case refused = 7
    case serverFailed = 8
    case connectionLost = 9
    case interrupted = 130

    /// The exit code of an error.
    init(_ error: ChatterError) {
        self =
            switch error {
            case .invalidURL: .usage
            case .unreachable, .untrusted: .unreachable
            case .unauthorized: .unauthorized
            case .busy: .busy
            case .modelFailed: .modelFailed
            case .notFound, .rejected: .refused
            case .serverFailed, .malformed: .serverFailed
            case .connectionLost: .connectionLost
            case .cancelled: .interrupted
            }
    }

    /// The cause, for help.
    var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "a file or the terminal cannot be read or written"
        case .usage: "wrong usage, or CHATTER_URL is not a URL"
        case .unreachable: "no server answers at CHATTER_URL, or its certificate is not trusted"
        case .unauthorized: "the key is missing or wrong, or does not permit this"
        case .busy: "a limit is reached, or the server or the model server is busy: try again later"
        case .modelFailed: "the model did not complete its answer"
        case .refused: "the request is refused, or names something that does not exist"
        case .serverFailed: "the server or its database failed, or it is not a chatterd"
        case .connectionLost: "the connection was lost and could not be restored"
        case .interrupted: "stopped by Ctrl-C"
        }
    }
}
