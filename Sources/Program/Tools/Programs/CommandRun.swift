import CChatterdSystem
import ChatterdBasics
import ChatterdRelay
import Dispatch
import Glibc

/// One run of a program for a call: without a shell, in its own session, with limits, with the arguments on its standard input, and without the
/// environment of this process.
///
/// A thread waits for it. When the run ends, by itself, by its time or by `cancel`, all processes of its group are killed.
final class CommandRun: Sendable {
    /// The limit of the text of errors that a result has, in bytes.
    private static let maximumErrors = 1_000
    /// The milliseconds after which the run looks whether the process has ended.
    private static let look: Int64 = 50
    private static let queue = DispatchQueue(label: "chatterd.tools", attributes: .concurrent)

    private let tool: ToolDescription
    private let action: ToolDescription.CommandAction
    private let input: [UInt8]
    private let key: String
    /// Becomes readable when the run is cancelled.
    private let stop = csystem_eventfd()

    init(_ action: ToolDescription.CommandAction, of tool: ToolDescription, input: [UInt8], key: String) {
        self.action = action
        self.tool = tool
        self.input = input
        self.key = key
    }

    deinit {
        if stop >= 0 { close(stop) }
    }

    /// Ends the run.
    func cancel() {
        _ = csystem_eventfd_signal(stop)
    }

    /// Runs the program to its end.
    func result() async -> ToolResult {
        await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: self.run()) }
        }
    }

    private func run() -> ToolResult {
        var template = Array("/tmp/chatterd-tool-XXXXXX".utf8CString)
        var directory = action.directory
        if directory == nil {
            guard mkdtemp(&template) != nil else {
                return .failure("there is no working directory: \(Self.lastError).")
            }
            directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        defer { if action.directory == nil, let directory { csystem_remove_directory(directory) } }
        let program: SpawnedProgram
        do throws(SpawnFailure) {
            program = try SpawnedProgram(
                action.arguments, limits: limits, variables: ["CHATTERD_TOOL_KEY=\(key)"], directory: directory ?? "/")
        } catch {
            return .failure("\(error.reason).")
        }
        let outcome = exchange(with: program)
        for end in [program.output, program.errors] { close(end) }
        let status = wait(for: program, until: outcome.ending == nil ? deadline(from: outcome.start) : outcome.start)
        return result(outcome, status)
    }

    private var limits: [String] {
        [
            "--as=\(action.memory)", "--cpu=\(tool.terms.timeout.components.seconds + 1)", "--core=0",
            "--fsize=\(64 << 20)",
            "--nofile=256",
        ]
    }

    private func deadline(from start: Instant) -> Instant { start + tool.terms.timeout }

    // MARK: - Running

    private struct Outcome {
        let start: Instant
        var output: [UInt8] = []
        var errors: [UInt8] = []
        /// Why the run was ended; `nil` if the program has closed its output.
        var ending: String?
    }

    /// Writes the input, and reads the output until its end, that of the process, the deadline or `cancel`.
    private func exchange(with program: SpawnedProgram) -> Outcome {
        var outcome = Outcome(start: Self.now)
        var rest = input[...]
        var (writes, reads, readsErrors) = (true, true, true)
        while reads || readsErrors {
            let left = (deadline(from: outcome.start) - Self.now).milliseconds
            guard left > 0 else {
                outcome.ending = "the program has not ended within \(tool.terms.timeout.text)"
                break
            }
            var polled = [
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
                pollfd(fd: reads ? program.output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: readsErrors ? program.errors : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: writes ? program.input : -1, events: Int16(POLLOUT), revents: 0),
            ]
            // Seen before the pipes are read: what it has written is in them.
            let hasEnded = program.hasEnded
            let time = hasEnded ? 0 : min(left, Self.look)
            let count = poll(&polled, nfds_t(polled.count), Int32(clamping: time))
            // A child that it has left may hold the pipes open.
            if hasEnded, count == 0 { break }
            guard count >= 0 || errno == EINTR else {
                outcome.ending = "the program cannot be watched: \(Self.lastError)"
                break
            }
            guard count > 0 else { continue }
            guard polled[0].revents == 0 else {
                outcome.ending = "the call was stopped"
                break
            }
            if polled[1].revents != 0 { reads = SpawnedProgram.read(program.output, into: &outcome.output) }
            if polled[2].revents != 0 {
                readsErrors = SpawnedProgram.read(program.errors, into: &outcome.errors)
                outcome.errors = outcome.errors.suffix(Self.maximumErrors)
            }
            if polled[3].revents != 0, !SpawnedProgram.write(&rest, to: program.input) {
                writes = false
                close(program.input)
            }
            guard outcome.output.count <= tool.terms.maximumSize else {
                outcome.ending = "the output has more than \(tool.terms.maximumSize) bytes"
                break
            }
        }
        if writes { close(program.input) }
        return outcome
    }

    private func result(_ outcome: Outcome, _ status: Int32?) -> ToolResult {
        if let ending = outcome.ending { return .failure("\(ending).") }
        guard let status else { return .failure("the program has not ended within \(tool.terms.timeout.text).") }
        guard status != 0 else {
            return ToolResult(text: Array(String(decoding: outcome.output, as: UTF8.self).utf8), isError: false)
        }
        let errors = String(
            decoding: outcome.errors.isEmpty ? Array(outcome.output.suffix(Self.maximumErrors)) : outcome.errors,
            as: UTF8.self)
        let signal = status & 0x7F
        return .failure(
            signal == 0
                ? "the program ended with \(status >> 8 & 0xFF): \(errors)"
                : "signal \(signal) ended the program: \(errors)")
    }

    /// Waits for the end of the program, kills what is left of its group, and returns its status; `nil` if it had to be killed.
    private func wait(for program: SpawnedProgram, until deadline: Instant) -> Int32? {
        while true {
            let hasEnded = program.hasEnded
            var stopped = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
            if hasEnded || Self.now >= deadline || poll(&stopped, 1, 2) > 0 {
                let status = program.reap()
                return hasEnded ? status : nil
            }
        }
    }

    private static var now: Instant { Instant(nanoseconds: csystem_monotonic_ns()) }
    private static var lastError: String { String(cString: strerror(errno)) }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
    /// The duration for people, in seconds.
    var text: String { "\(Double(milliseconds) / 1_000) s" }
}
