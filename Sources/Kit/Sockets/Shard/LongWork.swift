import Dispatch

/// Work whose time grows with what a client has sent.
///
/// Work on a small input stays on the event loop. Work on a larger one runs on a queue, one piece at a time, because the event loop serves
/// no other request during a piece. Very large inputs have a separate queue, so that no other input waits for them, and so has work whose time
/// its size does not tell.
public enum LongWork {
    /// The size up to which work stays on the event loop, in bytes: the slowest translation of a request needs some milliseconds for it.
    public static let size = 32 << 10

    /// The size from which an input is very large, in bytes.
    private static let veryLarge = 1 << 20

    private static let queues = (
        usual: DispatchQueue(label: "chatterd.long-work", qos: .utility),
        veryLarge: DispatchQueue(label: "chatterd.very-long-work", qos: .utility),
        unknown: DispatchQueue(label: "chatterd.unknown-work", qos: .utility)
    )

    /// The size for work whose time the size of its input does not tell.
    public static let unknownSize = Int.max

    /// Does work on an input of a size in bytes, and returns its value to the executor of the caller.
    public static func run<Value: Sendable, Failure>(
        on size: Int, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard size > Self.size else { return try work() }
        let queue = size == unknownSize ? queues.unknown : size > veryLarge ? queues.veryLarge : queues.usual
        let outcome: Result<Value, Failure> = await withUnsafeContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(Failure) in try work() })
            }
        }
        return try outcome.get()
    }
}
