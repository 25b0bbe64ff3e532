import ChatterdBasics
import ChatterdSockets

/// A response whose body is written bit by bit. Confined to its shard.
///
/// What is written in one turn of the shard leaves as one chunk in one `send`. A stream that is let go without `finish` is
/// aborted: the client sees that its end is missing.
public final class ResponseStream: @unchecked Sendable {
    /// Nothing for a stream that never was one.
    private let responder: Responder?

    init(_ responder: Responder?) {
        self.responder = responder
    }

    deinit {
        guard let responder else { return }
        if responder.shard.isCurrent {
            responder.abortStream()
        } else {
            responder.shard.run { responder.abortStream() }
        }
    }

    /// Whether writing is in vain: the stream was finished or aborted, or the client is gone.
    public var isClosed: Bool { !(responder?.isStreaming ?? false) }

    /// The bytes that the client's connection has not taken yet.
    ///
    /// A writer that can wait should do so at a high count, until `onDrained`. The server cuts a stream off if its writer writes
    /// while more than `Limits.unsentOutput` is unsent.
    public var unsentCount: Int { responder?.unsentCount ?? 0 }

    /// Lets `body` append to the output; the closure must not use the stream.
    @inline(__always)
    public func write(_ body: (inout ByteBuffer) -> Void) {
        responder?.append(body)
    }

    /// Ends the body.
    public func finish() {
        responder?.finishStream()
    }

    /// Cuts the response off, so that the client can tell that its end is missing.
    public func abort() {
        responder?.abortStream()
    }

    /// Called once if the client goes away, or stops reading for too long, before `finish`.
    public var onClientGone: (() -> Void)? {
        get { responder?.onClientGone }
        set { responder?.onClientGone = newValue }
    }

    /// Has `onDrained` called once the output so far is with the system, be it at the end of this turn.
    ///
    /// A writer that waits must ask for it: what this turn has written may yet be taken at once.
    public func awaitDrain() {
        responder?.awaitDrain()
    }

    /// Called when the client has taken all output after a time when it had not, or after `awaitDrain`.
    public var onDrained: (() -> Void)? {
        get { responder?.onDrained }
        set { responder?.onDrained = newValue }
    }

    /// Calls `callback` whenever nothing was written for `duration`, to write a sign of life.
    ///
    /// It costs no timer, and a write costs it one store. It is left out while the client does not take what there is.
    public func onSilence(after duration: Duration, _ callback: @escaping () -> Void) {
        responder?.setSilence(duration, callback)
    }
}
