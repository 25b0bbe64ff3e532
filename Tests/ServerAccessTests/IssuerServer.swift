import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The server of an issuer's keys, behind TLS. The test sets its answer, and counts its requests.
final class IssuerServer: Sendable {
    /// The answer to a request.
    enum Answer {
        case response(_ status: String, fields: [String] = [], _ body: String)
        /// The request waits until the test sets another answer.
        case none

        static func keys(_ text: String) -> Answer { .response("200 OK", text) }
    }

    private struct State {
        var answer: Answer
        var requests = 0
        var waiting: [TCPStream] = []
        var streams: [TCPStream] = []
    }

    let files: Certificates
    let shard: Shard
    let port: Int
    private let listener: Listener
    private let state: Monitor<State>

    init(_ answer: Answer, certificate: String = "server") throws {
        files = try Certificates()
        shard = try Shard(index: 0)
        state = Monitor(State(answer: answer))
        let context = try TLSContext.server(certificate: files.certificate(certificate), key: files.key(certificate))
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        listener = try Listener(binding: address, on: shard, slots: 100)
        port = Int(listener.address.port)
        try listener.start { [state, shard] descriptor, peer in
            let connection = Connection(state)
            // A descriptor that cannot be watched is closed, and the test fails.
            let stream = try? TCPStream.adopt(descriptor, peer: peer, on: shard, delegate: connection, tls: context)
            state.withLock { $0.streams += stream.map { [$0] } ?? [] }
        }
    }

    /// The number of requests so far.
    var requests: Int { state.withLock { $0.requests } }

    /// Waits for a number of requests.
    func waitForRequests(_ count: Int) throws {
        guard state.wait(until: { $0.requests >= count ? true : nil }) != nil else {
            throw TestFailure("the issuer was asked \(requests) times, not \(count)")
        }
    }

    /// Sets the answer to further requests, and to those that wait.
    func answer(_ answer: Answer) {
        state.withLock { $0.answer = answer }
        shard.run { [state] in
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for stream in waiting {
                Self.send(answer, to: stream)
            }
        }
    }

    private static func send(_ answer: Answer, to stream: TCPStream) {
        guard case .response(let status, let fields, let body) = answer else { return }
        let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "", body]
        let text = Array(lines.joined(separator: "\r\n").utf8)
        stream.write { $0.append(text) }
    }

    private final class Connection: TCPStreamDelegate {
        private let state: Monitor<State>
        private var head: [UInt8] = []

        init(_ state: Monitor<State>) {
            self.state = state
        }

        func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
            head += bytes.array
            guard String(decoding: head, as: UTF8.self).hasSuffix("\r\n\r\n") else { return }
            head = []
            let answer = state.withLock { state in
                state.requests += 1
                if case .none = state.answer {
                    state.waiting.append(stream)
                }
                return state.answer
            }
            IssuerServer.send(answer, to: stream)
        }

        func streamReachedEnd(_ stream: TCPStream) {
            stream.close()
        }

        func stream(_ stream: TCPStream, failed error: SocketError) {}
    }
}
