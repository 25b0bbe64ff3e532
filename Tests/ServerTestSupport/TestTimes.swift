import ChatterdTestSupport
import Foundation
import Testing

/// The times of tests without their wait for a turn, for the table of the slowest tests: a line with the seconds and the name of each, in
/// the file that `CHATTERD_TEST_TIMES` names.
enum TestTimes {
    private static let file = ProcessInfo.processInfo.environment["CHATTERD_TEST_TIMES"]
        .flatMap { FileManager.default.createFile(atPath: $0, contents: nil) ? FileHandle(forWritingAtPath: $0) : nil }
    /// The number of notes. A state without a size is none for the thread sanitizer.
    private static let count = Monitor(0)

    /// Notes that the present test took this long.
    static func note(_ duration: Duration) {
        guard let file, let test = Test.current else { return }
        let seconds = duration / .seconds(1)
        let name = test.id.description.split(separator: "/").filter { !$0.contains(".swift:") }.joined(separator: "/")
        count.withLock { count in
            count += 1
            file.write(Data("\(seconds)\t\(name)\n".utf8))
        }
    }
}
