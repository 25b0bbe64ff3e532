import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import Dispatch
import Glibc

/// The signals that the process gets, as a sequence.
///
/// Immutable once made: the sources only have to stay alive.
final class Signals: @unchecked Sendable {
    /// The numbers of the signals, as they come.
    let stream: AsyncStream<Int32>
    private let continuation: AsyncStream<Int32>.Continuation
    private let sources: [any DispatchSourceSignal]

    /// Begins to take signals, whose default effects are off from then on; each that comes after this has returned is seen.
    init(_ numbers: [Int32]) {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.stream = stream
        self.continuation = continuation
        let queue = DispatchQueue(label: "chatterd.signals")
        let registered = DispatchGroup()
        sources = numbers.map { number in
            // Dispatch sees a signal only when its default is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(number) }
            registered.enter()
            source.setRegistrationHandler { registered.leave() }
            source.activate()
            return source
        }
        // Until then a signal would be lost: it is ignored, and nobody looks for it.
        registered.wait()
    }

    /// Puts a number into the sequence that is no signal's.
    func note(_ number: Int32) {
        continuation.yield(number)
    }

    /// Ends the sequence.
    func finish() {
        continuation.finish()
    }
}
