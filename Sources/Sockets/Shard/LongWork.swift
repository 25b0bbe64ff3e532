import Dispatch

/// Work whose time grows with what a client has sent.
///
/// Above a size it leaves the event loop, which would serve nobody else meanwhile. It runs on one queue, piece after piece, so all such
/// requests together cost the process one core at most.
public enum LongWork {
    /// The size up to which work stays on the event loop, in bytes: the slowest translation of a request needs some milliseconds for it.
    public static let size = 32 << 10

    private static let queue = DispatchQueue(label: "chatterd.long-work", qos: .utility)

    /// Does work on an input of a size in bytes, and returns its value to the executor of the caller.
    public static func run<Value: Sendable, Failure>(
        on size: Int, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard size > Self.size else { return try work() }
        let outcome: Result<Value, Failure> = await withUnsafeContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(Failure) in try work() }) }
        }
        return try outcome.get()
    }
}
