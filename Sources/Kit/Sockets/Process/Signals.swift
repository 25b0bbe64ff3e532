import Dispatch
import Glibc

/// Calls a handler for each signal of the process until it is released.
public final class Signals {
    private let sources: [any DispatchSourceSignal]

    /// Turns the signals' default effects off. The handler is called for each signal that comes after this has returned.
    public init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "chatterd.signals")
        let registered = DispatchGroup()
        sources = numbers.map { number in
            // Dispatch sees a signal only when its default is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handler(number) }
            registered.enter()
            source.setRegistrationHandler { registered.leave() }
            source.activate()
            return source
        }
        // A signal that comes earlier would be lost: it is ignored, and no source sees it.
        registered.wait()
    }

    deinit {
        for source in sources {
            source.cancel()
        }
    }
}
