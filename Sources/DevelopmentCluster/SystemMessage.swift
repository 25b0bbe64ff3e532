import Glibc

/// The system's words for the errors of its calls.
enum SystemMessage {
    /// The words for the last call of this thread that failed.
    static var last: String { text(errno) }

    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
