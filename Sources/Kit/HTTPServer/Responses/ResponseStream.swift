import ChatterdBasics
import ChatterdSockets

/// A response whose body is written in parts. Confined to its shard.
///
/// The output of one turn of the shard leaves as one chunk in one `send`. A stream that is deallocated without `finish` is aborted, so
/// that the client notices the missing end. This is why the class exists beside `Responder`, which a connection retains. Any thread may
/// release a stream; the abort then moves to the shard.
public final class ResponseStream {
    /// `nil` for the stream of a second response, which is closed from the start.
    private let responder: Responder?

    init(_ responder: Responder?) {
        self.responder = responder
    }

    deinit {
        guard let responder else { return }
        if responder.shard.isCurrent {
            responder.abortStream()
        } else {
            let confined = Confined(responder, to: responder.shard)
            responder.shard.run { confined.value.abortStream() }
        }
    }

    /// Whether output is ignored, because the stream was finished or aborted or the client disconnected.
    public var isClosed: Bool { !(responder?.isStreaming ?? false) }

    /// The number of bytes that the system has not accepted yet.
    ///
    /// A writer that can wait should do so at a high count, until `onDrained`. The server cuts the client off if a write finds more than
    /// `Limits.unsentOutput` unsent bytes.
    public var unsentCount: Int { responder?.unsentCount ?? 0 }

    /// Lets `body` append to the output. The closure must not use the stream.
    @inline(__always)
    public func write(_ body: (inout ByteBuffer) -> Void) {
        responder?.append(body)
    }

    /// Ends the body.
    public func finish() {
        responder?.finishStream()
    }

    /// Cuts the response off, so that the client notices the missing end.
    public func abort() {
        responder?.abortStream()
    }

    /// Called once if the client disconnects, or stops reading for too long, before `finish`.
    public var onClientGone: (() -> Void)? {
        get { responder?.onClientGone }
        set { responder?.onClientGone = newValue }
    }

    /// Calls `onDrained` once the system has accepted the output so far, possibly at the end of this turn.
    ///
    /// A writer that waits must call this, because the output of this turn is not blocked yet.
    public func awaitDrain() {
        responder?.awaitDrain()
    }

    /// Called when the system has accepted all output, after a time when it had not or after `awaitDrain`.
    public var onDrained: (() -> Void)? {
        get { responder?.onDrained }
        set { responder?.onDrained = newValue }
    }

    /// Calls `callback` after each `duration` without output, to write a keep-alive.
    ///
    /// It needs no timer of its own, and costs a write one store. It pauses while the client does not read.
    public func onSilence(after duration: Duration, _ callback: @escaping () -> Void) {
        responder?.setSilence(duration, callback)
    }
}
