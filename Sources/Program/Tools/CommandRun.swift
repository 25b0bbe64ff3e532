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
        guard let pipes = Pipes() else { return .failure("there are no pipes: \(Self.lastError).") }
        let process = spawn(in: directory ?? "/", pipes)
        pipes.closeTheirs()
        guard process > 0 else {
            close(pipes.input.ours)
            pipes.closeOurs()
            return .failure("the program cannot be started: \(String(cString: strerror(-process))).")
        }
        let outcome = exchange(with: pipes, process)
        pipes.closeOurs()
        let status = wait(
            for: process, until: outcome.ending == nil ? deadline(from: outcome.start) : outcome.start)
        return result(outcome, status)
    }

    private func deadline(from start: Instant) -> Instant { start + tool.timeout }

    // MARK: - Starting

    private struct Pipes {
        let input: (theirs: Int32, ours: Int32)
        let output: (theirs: Int32, ours: Int32)
        let errors: (theirs: Int32, ours: Int32)

        init?() {
            var ends: [Int32] = []
            for _ in 0..<3 {
                var pair: [Int32] = [-1, -1]
                guard csystem_pipe(&pair) == 0 else {
                    for end in ends { close(end) }
                    return nil
                }
                ends += pair
            }
            input = (ends[0], ends[1])
            output = (ends[3], ends[2])
            errors = (ends[5], ends[4])
            for ours in [input.ours, output.ours, errors.ours] { _ = fcntl(ours, F_SETFL, O_NONBLOCK) }
        }

        func closeTheirs() {
            for end in [input.theirs, output.theirs, errors.theirs] { close(end) }
        }

        func closeOurs() {
            for end in [output.ours, errors.ours] { close(end) }
        }
    }

    private func spawn(in directory: String, _ pipes: Pipes) -> Int32 {
        // Both belong to util-linux, which each Debian has. The thread that starts the program waits for it, so the program is killed when
        // this process dies, and not before.
        let seconds = tool.timeout.components.seconds + 1
        let limits = [
            "setpriv", "--pdeathsig", "KILL", "--", "prlimit", "--as=\(action.memory)", "--cpu=\(seconds)", "--core=0",
            "--fsize=\(64 << 20)", "--nofile=256",
            "--",
        ]
        let variables = ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "CHATTERD_TOOL_KEY=\(key)"]
        let vector = (limits + action.arguments).map { strdup($0) } + [nil]
        let environment = variables.map { strdup($0) } + [nil]
        defer { for pointer in vector + environment { free(pointer) } }
        return csystem_spawn(
            vector, environment, directory, pipes.input.theirs, pipes.output.theirs, pipes.errors.theirs)
    }

    // MARK: - Running

    private struct Outcome {
        let start: Instant
        var output: [UInt8] = []
        var errors: [UInt8] = []
        /// Why the run was ended; `nil` if the program has closed its output.
        var ending: String?
    }

    /// Writes the input, and reads the output until its end, that of the process, the deadline or `cancel`.
    private func exchange(with pipes: Pipes, _ process: pid_t) -> Outcome {
        var outcome = Outcome(start: Self.now)
        var rest = input[...]
        var (writes, reads, readsErrors) = (true, true, true)
        while reads || readsErrors {
            let left = (deadline(from: outcome.start) - Self.now).milliseconds
            guard left > 0 else {
                outcome.ending = "the program has not ended within \(tool.timeout.text)"
                break
            }
            var polled = [
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
                pollfd(fd: reads ? pipes.output.ours : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: readsErrors ? pipes.errors.ours : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: writes ? pipes.input.ours : -1, events: Int16(POLLOUT), revents: 0),
            ]
            // Seen before the pipes are read: what it has written is in them.
            let hasEnded = Self.hasEnded(process)
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
            if polled[1].revents != 0 { reads = Self.read(pipes.output.ours, into: &outcome.output) }
            if polled[2].revents != 0 {
                readsErrors = Self.read(pipes.errors.ours, into: &outcome.errors)
                outcome.errors = outcome.errors.suffix(Self.maximumErrors)
            }
            if polled[3].revents != 0, !Self.write(&rest, to: pipes.input.ours) {
                writes = false
                close(pipes.input.ours)
            }
            guard outcome.output.count <= tool.maximumSize else {
                outcome.ending = "the output has more than \(tool.maximumSize) bytes"
                break
            }
        }
        if writes { close(pipes.input.ours) }
        return outcome
    }

    private func result(_ outcome: Outcome, _ status: Int32?) -> ToolResult {
        if let ending = outcome.ending { return .failure("\(ending).") }
        guard let status else { return .failure("the program has not ended within \(tool.timeout.text).") }
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

    /// Waits for the end of a process, kills what is left of its group, and returns its status; `nil` if it had to be killed.
    private func wait(for process: pid_t, until deadline: Instant) -> Int32? {
        var status: Int32 = 0
        while true {
            let hasEnded = Self.hasEnded(process)
            var stopped = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
            if hasEnded || Self.now >= deadline || poll(&stopped, 1, 2) > 0 {
                kill(-process, SIGKILL)
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                return hasEnded ? status : nil
            }
        }
    }

    /// Whether a process has ended. It stays a zombie until `wait`, so that no other process can have its number.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var info = siginfo_t()
        let found = waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT | WNOHANG)
        return found == 0 && info._sifields._sigchld.si_pid == process
    }

    private static func read(_ descriptor: Int32, into bytes: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer.prefix(count)) }
            return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
        }
    }

    /// Writes a part of the input; `false` at its end, or if the program does not read it.
    private static func write(_ rest: inout ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        guard !rest.isEmpty else { return false }
        let count = rest.withUnsafeBytes { csystem_write(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { return count == -Int(EAGAIN) || count == -Int(EINTR) }
        rest = rest.dropFirst(count)
        return !rest.isEmpty
    }

    private static var now: Instant { Instant(nanoseconds: csystem_monotonic_ns()) }
    private static var lastError: String { String(cString: strerror(errno)) }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
    /// The duration for people, in seconds.
    var text: String { "\(Double(milliseconds) / 1_000) s" }
}
