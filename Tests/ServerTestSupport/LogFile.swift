import ChatterdJSONLog
import ChatterdTestSupport
import Dispatch
import Glibc

/// A log whose lines a test reads.
final class LogFile: Sendable {
    let log: Log
    private let descriptor: Int32

    init() throws {
        var template = Array("/tmp/chatterd-log-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw TestFailure("no temporary file") }
        unlink(template)
        log = Log(descriptor: descriptor)
    }

    deinit {
        log.flush(within: .never)
        close(descriptor)
    }

    /// The lines so far.
    var lines: [String] {
        log.flush(within: .never)
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
