import ChatterdBasics
import Dispatch
import Glibc

/// The log: one line of JSON for each request and event, on standard error.
///
/// Lines are gathered, and written by a thread of the log's own within 50 ms, so that a slow reader of standard error
/// never holds a shard. A reader that is stuck costs lines, not memory: beyond 4 MiB they are counted and dropped.
/// Prompts and answers cannot reach it: what it takes is a closed set of fields (`Log.Request`, `Log.Field`).
public final class Log: Sendable {
    /// How a request line shows the appID.
    public enum AppID: String, Sendable, CaseIterable {
        /// As twelve hexadecimal digits that mean something within the process only.
        case hash
        /// As it is.
        case plain
        /// Not at all.
        case none
    }

    /// How much an event matters.
    public enum Level: String, Sendable, CaseIterable {
        /// As expected.
        case info
        /// The server copes, but somebody should look.
        case warning
        /// Something that was asked for was not done.
        case error
    }

    /// The wall clock: seconds since 1970 and nanoseconds of the second; injected by tests.
    public typealias Clock = @Sendable () -> (seconds: Int, nanoseconds: Int)

    private struct State {
        /// Whole lines, not yet handed to the writer.
        var pending = ByteBuffer()
        /// Lines that found no room since the last one that did.
        var dropped = 0
        /// Whether a write has been asked for, soon or at once.
        var isScheduled = false
        var isUrgent = false
        var timestamp = LogTimestamp()
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "chatterd.log")
    private let writer: LogWriter
    private let encoder: LogEncoder
    private let clock: Clock

    /// Bytes after which lines are written at once.
    private static let batch = 16_384
    /// Bytes that wait at most.
    private static let limit = 4 << 20
    private static let delay = DispatchTimeInterval.milliseconds(50)

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - descriptor: where the lines go; stays the caller's.
    ///   - appID: how request lines show the appID.
    ///   - secrets: texts that are blotted out of `error` fields, should a database's message quote them.
    ///   - clock: the wall clock.
    public init(
        descriptor: Int32 = 2, appID: AppID = .hash, secrets: [String] = [], clock: @escaping Clock = Log.systemClock
    ) {
        writer = LogWriter(descriptor: descriptor)
        encoder = LogEncoder(appID: appID, secrets: secrets)
        self.clock = clock
    }

    /// Blots these texts out of `error` and `detail` fields too from now on.
    public func conceal(_ secrets: [String]) {
        encoder.conceal(secrets)
    }

    /// Logs a request that has been answered.
    public func request(_ request: Request) {
        append { buffer, stamp in encoder.append(request, stamp: stamp, to: &buffer) }
    }

    /// Logs something that happened.
    public func event(_ level: Level, _ message: StaticString, _ fields: Field...) {
        append(isUrgent: true) { buffer, stamp in
            encoder.append(level, message, fields, stamp: stamp, to: &buffer)
        }
    }

    /// Writes a line of plain text at once, for whoever started the server; returns when it is out.
    public func announce(_ text: String) {
        append(isUrgent: true) { buffer, _ in
            buffer.append(utf8: text)
            buffer.append(UInt8(ascii: "\n"))
        }
        flush()
    }

    /// Returns when all that was logged is out, or after `limit`, should nobody take it.
    public func flush(within limit: DispatchTimeInterval = .seconds(1)) {
        let done = DispatchSemaphore(value: 0)
        queue.async {
            self.write()
            done.signal()
        }
        _ = done.wait(timeout: .now() + limit)
    }

    /// The system's wall clock.
    public static let systemClock: Clock = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return (time.tv_sec, time.tv_nsec)
    }

    private func append(isUrgent: Bool = false, _ line: (inout ByteBuffer, LogTimestamp) -> Void) {
        let now = clock()
        let isToWake = state.withLock { state -> Bool? in
            state.timestamp.set(now)
            guard state.pending.count < Self.limit else {
                state.dropped += 1
                return nil
            }
            if state.dropped > 0 {
                encoder.append(
                    .warning, "log lines dropped", [.count(state.dropped)], stamp: state.timestamp, to: &state.pending)
                state.dropped = 0
            }
            line(&state.pending, state.timestamp)
            if !state.isUrgent, isUrgent || state.pending.count >= Self.batch {
                state.isUrgent = true
                state.isScheduled = true
                return true
            }
            guard !state.isScheduled else { return nil }
            state.isScheduled = true
            return false
        }
        switch isToWake {
        case true?: queue.async { self.write() }
        case false?: queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        case nil: break
        }
    }

    /// Hands what is pending to the writer; on the log's queue only.
    private func write() {
        let lines = state.withLock { state in
            state.isScheduled = false
            state.isUrgent = false
            let lines = state.pending
            state.pending = ByteBuffer()
            return lines
        }
        writer.write(lines)
    }
}
