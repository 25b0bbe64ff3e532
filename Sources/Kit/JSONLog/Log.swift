import ChatterdBasics
import Dispatch
import Glibc

/// The log: one line of JSON for each request and event, on standard error.
///
/// A thread of the log writes the lines within 50 ms, so that a slow reader of standard error never blocks a shard. If the reader
/// blocks for long, lines beyond 4 MiB are counted and dropped. Prompts and answers cannot reach the log: it accepts a closed set of
/// fields (`Log.Request`, `Log.Field`).
public final class Log: Sendable {
    /// The wall clock: seconds since 1970 and nanoseconds of the second; injected by tests.
    public typealias Clock = @Sendable () -> (seconds: Int, nanoseconds: Int)

    private struct State {
        /// Whole lines that the writer does not have yet.
        var pending = ByteBuffer()
        /// Lines dropped since the last one that was appended.
        var dropped = 0
        var schedule = Schedule.none
        var timestamp = LogTimestamp()
    }

    /// The next write.
    private enum Schedule {
        case none
        /// Within `delay`.
        case soon
        case now
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "chatterd.log")
    private let writer: LogWriter
    private let encoder: LogEncoder
    private let clock: Clock

    /// Bytes after which lines are written at once.
    private static let batch = 16_384
    /// Pending bytes at which further lines are dropped.
    private static let limit = 4 << 20
    private static let delay = DispatchTimeInterval.milliseconds(50)

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - descriptor: the output; the caller keeps it and closes it.
    ///   - appID: how request lines show the appID.
    ///   - secrets: texts that are removed from `error` fields, in case a message of the database quotes them.
    ///   - clock: the wall clock.
    public init(
        descriptor: Int32 = 2, appID: AppID = .hash, secrets: [String] = [], clock: @escaping Clock = Log.systemClock
    ) {
        writer = LogWriter(descriptor: descriptor)
        encoder = LogEncoder(appID: appID, secrets: secrets)
        self.clock = clock
    }

    /// Removes these texts too from `error` and `detail` fields from now on.
    public func conceal(_ secrets: [String]) {
        encoder.conceal(secrets)
    }

    /// Logs an answered request.
    public func request(_ request: Request) {
        append { buffer, stamp in encoder.append(request, stamp: stamp, to: &buffer) }
    }

    /// Logs an event.
    public func event(_ level: Level, _ message: StaticString, _ fields: Field...) {
        append(isUrgent: true) { buffer, stamp in
            encoder.append(level, message, fields, stamp: stamp, to: &buffer)
        }
    }

    /// Writes a line of plain text for the operator. Returns when it is written.
    public func announce(_ text: String) {
        append(isUrgent: true) { buffer, _ in
            buffer.append(utf8: text)
            buffer.append(UInt8(ascii: "\n"))
        }
        flush()
    }

    /// Returns when all lines are written, or after `limit` if their reader blocks.
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
        let change = state.withLock { state -> Schedule in
            state.timestamp.set(now)
            guard state.pending.count < Self.limit else {
                state.dropped += 1
                return Schedule.none
            }
            if state.dropped > 0 {
                encoder.append(
                    .warning, "log lines dropped", [.count(state.dropped)], stamp: state.timestamp, to: &state.pending)
                state.dropped = 0
            }
            line(&state.pending, state.timestamp)
            return Self.schedule(&state, isUrgent: isUrgent || state.pending.count >= Self.batch)
        }
        switch change {
        case .none: break
        case .soon: queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        case .now: queue.async { self.write() }
        }
    }

    /// Schedules a write if none is scheduled, or only a later one. Returns the new write.
    private static func schedule(_ state: inout State, isUrgent: Bool) -> Schedule {
        switch (state.schedule, isUrgent) {
        case (.none, false): state.schedule = .soon
        case (.none, true), (.soon, true): state.schedule = .now
        case (.soon, false), (.now, _): return .none
        }
        return state.schedule
    }

    /// Hands the pending lines to the writer; on the log's queue only.
    private func write() {
        let lines = state.withLock { state in
            state.schedule = .none
            let lines = state.pending
            state.pending = ByteBuffer()
            return lines
        }
        writer.write(lines)
    }
}

extension Log {
    /// How a request line shows the appID.
    public enum AppID: String, Sendable, CaseIterable {
        /// Twelve hexadecimal digits, which have a meaning within the process only.
        case hash
        /// Unchanged.
        case plain
        /// The line has no appID.
        case none
    }

    /// How much an event matters.
    public enum Level: String, Sendable, CaseIterable {
        /// An expected event.
        case info
        /// The server copes, but the operator should look.
        case warning
        /// The server failed to do something that was asked for.
        case error
    }
}
