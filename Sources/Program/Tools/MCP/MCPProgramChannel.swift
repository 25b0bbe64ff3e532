import CChatterdSystem
import ChatterdBasics
import ChatterdSockets
import Dispatch
import Glibc

/// A program that speaks the Model Context Protocol on its standard input and output, one message per line. Confined to its shard.
///
/// The first request starts it, and so does the first one after its end.
final class MCPProgramChannel: MCPChannel {
    private let program: MCPDescription.Program
    private let shard: Shard
    private var run: MCPProgramRun?
    private var runs = 0

    /// The number of the run, or of the next one if it has ended.
    var generation: Int { run?.hasEnded ?? true ? runs + 1 : runs }

    init(_ program: MCPDescription.Program, on shard: Shard) {
        self.program = program
        self.shard = shard
    }

    func result(of request: MCPRequest, within limit: Duration) async -> Result<JSONSlice, MCPFailure> {
        let run = current()
        do throws(TimeoutError) {
            return try await shard.withTimeout(limit) { await run.result(of: request) }
        } catch {
            return .failure(.timedOut)
        }
    }

    func notify(_ message: [UInt8], _ revision: MCPRevision) async {
        run?.send(message)
    }

    func close() {
        run?.close()
        run = nil
    }

    /// The run of the program; a new one if there is none, or if it has ended.
    private func current() -> MCPProgramRun {
        if let run, !run.hasEnded { return run }
        runs += 1
        let next = MCPProgramRun(program)
        run = next
        return next
    }
}

/// One run of the program, from its start to its end. A thread reads and writes.
private final class MCPProgramRun: Sendable {
    /// The limit of the text of errors that a failure has, in bytes.
    private static let maximumErrors = 1_000

    private struct State {
        /// Messages that are not written yet.
        var output: [UInt8] = []
        var waiting: [Int: CheckedContinuation<Result<JSONSlice, MCPFailure>, Never>] = [:]
        /// Why the run has to end; `nil` before.
        var ending: String?
        /// Why the run has ended; `nil` before.
        var end: MCPFailure?
    }

    private let state = Lock(State())
    /// Readable when there is output, or when the run is closed.
    private let wake = csystem_eventfd()

    /// Starts the program, on a thread that stays until its end.
    init(_ program: MCPDescription.Program) {
        DispatchQueue(label: "chatterd.mcp").async { [self] in
            end(.unusable(serve(program)))
        }
    }

    deinit {
        if wake >= 0 { Glibc.close(wake) }
    }

    var hasEnded: Bool { state.withLock { $0.end != nil || $0.ending != nil } }

    /// Sends a message. A program that lets more than a message of the greatest size wait does not read.
    func send(_ message: [UInt8]) {
        state.withLock { state in
            state.output += message + [UInt8(ascii: "\n")]
            guard state.output.count > 2 * MCPAnswer.maximumSize else { return }
            state.output = []
            state.ending = state.ending ?? "the program does not read its input"
        }
        _ = csystem_eventfd_signal(wake)
    }

    /// Ends the program.
    func close() {
        state.withLock { $0.ending = $0.ending ?? "chatterd stops" }
        _ = csystem_eventfd_signal(wake)
    }

    /// Sends a request, and waits for its answer. The cancellation of the task ends it, and tells the program.
    func result(of request: MCPRequest) async -> Result<JSONSlice, MCPFailure> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else {
                    continuation.resume(returning: .failure(.timedOut))
                    return
                }
                let end = state.withLock { state in
                    if state.end == nil { state.waiting[request.id] = continuation }
                    return state.end
                }
                if let end {
                    continuation.resume(returning: .failure(end))
                } else {
                    send(request.json)
                    if Task.isCancelled { cancel(request) }
                }
            }
        } onCancel: {
            cancel(request)
        }
    }

    private func cancel(_ request: MCPRequest) {
        guard resume(request.id, with: .failure(.timedOut)), let message = request.cancellation else { return }
        send(message)
    }

    /// Ends the wait for an answer; `false` if nothing waits for it.
    @discardableResult
    private func resume(_ id: Int, with result: Result<JSONSlice, MCPFailure>) -> Bool {
        let continuation = state.withLock { $0.waiting.removeValue(forKey: id) }
        continuation?.resume(returning: result)
        return continuation != nil
    }

    private func end(_ failure: MCPFailure) {
        let waiting = state.withLock { state in
            state.end = failure
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(returning: .failure(failure)) }
    }

    // MARK: - On the thread

    /// Runs the program to its end, and returns the reason of the end.
    private func serve(_ program: MCPDescription.Program) -> String {
        let memory = program.memory.map { ["--as=\($0)"] } ?? []
        let spawned: SpawnedProgram
        do throws(SpawnFailure) {
            spawned = try SpawnedProgram(
                program.arguments, limits: ["--core=0", "--nofile=1024"] + memory, variables: program.variables,
                directory: program.directory)
        } catch {
            return error.reason
        }
        var errors: [UInt8] = []
        let reason = exchange(with: spawned, &errors)
        for end in [spawned.input, spawned.output, spawned.errors] { Glibc.close(end) }
        _ = spawned.reap()
        let text = String(decoding: errors, as: UTF8.self)
        return text.isEmpty ? reason : "\(reason): \(text)"
    }

    /// Passes messages on until the program ends or the run is closed, and returns the reason.
    private func exchange(with program: SpawnedProgram, _ errors: inout [UInt8]) -> String {
        var lines = LineBuffer()
        var output: ArraySlice<UInt8> = []
        var readsErrors = true
        let end = csystem_pidfd(program.process)
        defer { if end >= 0 { Glibc.close(end) } }
        while true {
            if output.isEmpty {
                output = state.withLock { state in
                    defer { state.output = [] }
                    return state.output[...]
                }
            }
            var polled = [
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: program.output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: readsErrors ? program.errors : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: output.isEmpty ? -1 : program.input, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: end, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else {
                return "the program cannot be watched: \(String(cString: strerror(errno)))"
            }
            if polled[0].revents != 0 { _ = csystem_eventfd_clear(wake) }
            if let ending = state.withLock({ $0.ending }) { return ending }
            if polled[2].revents != 0 {
                readsErrors = SpawnedProgram.read(program.errors, into: &errors)
                errors = errors.suffix(Self.maximumErrors)
            }
            if polled[1].revents != 0 {
                guard SpawnedProgram.read(program.output, into: &lines.bytes) else {
                    return "the program has closed its output"
                }
                guard lines.forEach({ handle($0) }) else {
                    return "the program has sent a message of more than \(MCPAnswer.maximumSize) bytes"
                }
            } else if polled[4].revents != 0 {
                return "the program has ended"
            }
            if polled[3].revents != 0, !SpawnedProgram.write(&output, to: program.input), !output.isEmpty {
                return "the program does not read its input"
            }
        }
    }

    private func handle(_ line: [UInt8]) {
        switch MCPAnswer.read(line) {
        case .answer(let id, let result): resume(id, with: result)
        case .request(let id, let method): send(MCPAnswer.reply(to: id, method: method))
        case .notification?, nil: break
        }
    }
}

/// The lines of an output that arrives in pieces.
struct LineBuffer {
    var bytes: [UInt8] = []
    /// The bytes that have no line end.
    private var searched = 0

    /// Passes each complete line on, without its end; `false` if the rest is longer than a message may be.
    mutating func forEach(_ body: ([UInt8]) -> Void) -> Bool {
        var start = 0
        while let end = bytes[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n")) {
            if end > start { body(Array(bytes[start..<end])) }
            start = end + 1
        }
        bytes.removeFirst(start)
        searched = bytes.count
        return bytes.count <= MCPAnswer.maximumSize
    }
}
