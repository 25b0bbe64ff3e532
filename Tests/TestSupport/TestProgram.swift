import Foundation
import Glibc

/// A program of the package in a separate process. Tests can wait for its lines on stderr.
public final class TestProgram: Sendable {
    private struct State {
        var lines: [String] = []
        var exit: Int32?
    }

    /// The process.
    public let pid: pid_t
    private let input: Int32
    private let state = Monitor(State())

    /// Starts a product of the package by its name, with this environment and PATH only.
    public init(_ product: String, _ arguments: [String] = [], environment: [String: String]) throws {
        let program = try spawn(
            ["\(TestProgram.folder)/\(product)"] + arguments,
            environment: plainEnvironment.merging(environment) { $1 })
        pid = program.pid
        input = program.input
        // Ends the program if the tests are killed. It is ended itself before the process id of the program becomes free.
        let guardian = try spawn(
            ["sh", "-c", "cat >/dev/null; kill -KILL \"$1\"", "sh", String(pid)], environment: plainEnvironment)
        startThread { [state] in
            var open: [(fd: Int32, events: Int16)] = [(program.errors, Int16(POLLIN)), (program.output, Int16(POLLIN))]
            var rest: [UInt8] = []
            while !open.isEmpty, let ready = waitForAny(open, upTo: 3600) {
                let fd = open[ready].fd
                let bytes = readSome(fd)
                if bytes.isEmpty { open.remove(at: ready) }
                guard fd == program.errors else { continue }
                rest += bytes
                while let end = rest.firstIndex(of: 10) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest.removeFirst(end + 1)
                    state.withLock { $0.lines.append(line) }
                }
            }
            for end in [program.errors, program.output, guardian.output, guardian.errors] { close(end) }
            kill(guardian.pid, SIGKILL)
            _ = ChatterdTestSupport.waitForExit(guardian.pid)
            close(guardian.input)
            // This does not reap the process: its id must stay its own until the end is recorded.
            var end = siginfo_t()
            while waitid(P_PID, id_t(program.pid), &end, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
            state.withLock { $0.exit = ChatterdTestSupport.waitForExit(program.pid) }
        }
    }

    deinit {
        signal(SIGKILL)
        close(input)
    }

    /// The output on stderr so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// Waits for a line on stderr that contains a text.
    @discardableResult
    public func waitForLine(containing text: String) throws -> String {
        let found = state.wait { state -> Result<String, TestFailure>? in
            if let line = state.lines.first(where: { $0.contains(text) }) { return .success(line) }
            return state.exit.map { .failure(TestFailure("it ended with \($0): \(state.lines)")) }
        }
        guard let found else { throw TestFailure("no line has \(text): \(lines)") }
        return try found.get()
    }

    /// Waits for `listening on http://host:port` and returns the port.
    public func waitForPort() throws -> Int {
        let line = try waitForLine(containing: "listening on http://")
        guard let port = line.split(separator: ":").last.flatMap({ Int($0.prefix { $0.isNumber }) }) else {
            throw TestFailure("no port in \(line)")
        }
        return port
    }

    /// The peak of the resident memory so far, in bytes: `VmHWM` of proc_pid_status(5).
    public func peakMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw TestFailure("no VmHWM of \(pid)")
        }
        return kibibytes * 1024
    }

    /// Sends a signal, unless the program has ended.
    public func signal(_ number: Int32) {
        state.withLock { state in
            if state.exit == nil { kill(pid, number) }
        }
    }

    /// Waits for the end, and returns the exit code or the negated signal.
    public func waitForExit() throws -> Int32 {
        guard let exit = state.wait(until: { $0.exit }) else { throw TestFailure("still running: \(lines)") }
        return exit
    }

    /// The directory of the products of the package, which has the test program too.
    private static let folder: String = {
        let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (executable as NSString).deletingLastPathComponent
    }()

}
