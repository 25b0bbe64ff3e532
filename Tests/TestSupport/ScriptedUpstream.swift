import Glibc

/// A model server that runs a script, to the byte, and records its requests.
///
/// It answers `GET` and `HEAD` like Ollama, and records them separately in `probes`.
public final class ScriptedUpstream: Sendable {
    /// Returns the steps for a request.
    public typealias Behaviour = @Sendable (UpstreamRequest) -> [UpstreamStep]

    private struct State {
        var requests: [UpstreamRequest] = []
        var probes: [UpstreamRequest] = []
        var connections = 0
        var finished: Set<Int> = []
        var closed: [Int: Double] = [:]
    }

    /// The port on 127.0.0.1.
    public let port: Int
    private let listener: BoundPort
    private let behaviour: Behaviour
    private let probing: Behaviour?
    private let state = Monitor(State())
    private let stopped = Gate()

    /// Listens, and gets the steps of each request from `behaviour`, and those of probes from `probing`.
    public init(probing: Behaviour? = nil, _ behaviour: @escaping Behaviour) throws {
        listener = try BoundPort(backlog: 1024)
        port = listener.port
        self.behaviour = behaviour
        self.probing = probing
        startThread { [listener, stopped, weak self] in
            while let connection = listener.accept(unless: stopped) {
                startThread { [weak self] in self?.serve(connection) }
            }
        }
    }

    /// Listens, and uses one script for each request; the last one serves all further requests.
    public convenience init(_ scripts: [UpstreamStep]...) throws {
        try self.init { request in
            scripts.isEmpty ? [] : scripts[min(request.number, scripts.count - 1)]
        }
    }

    /// Answers every request with the same tokens.
    public static func answering(_ tokens: [String]) throws -> ScriptedUpstream {
        try ScriptedUpstream(.answer(tokens))
    }

    deinit {
        stopped.open()
    }

    /// `http://127.0.0.1:port`
    public var url: String { listener.url }

    /// The requests to the model so far.
    public var requests: [UpstreamRequest] { state.withLock { $0.requests } }

    /// The probes so far.
    public var probes: [UpstreamRequest] { state.withLock { $0.probes } }

    /// The number of accepted connections.
    public var connectionCount: Int { state.withLock { $0.connections } }

    /// Waits for `count` requests.
    @discardableResult
    public func waitForRequests(_ count: Int) throws -> [UpstreamRequest] {
        guard let requests = state.wait(until: { $0.requests.count >= count ? $0.requests : nil }) else {
            throw TestFailure("the upstream was asked \(requests.count) times, not \(count)")
        }
        return requests
    }

    /// Waits until the peer has closed the connection of a request, and returns the time.
    @discardableResult
    public func waitForClose(of request: UpstreamRequest) throws -> Double {
        guard let time = state.wait(until: { $0.closed[request.connection] }) else {
            throw TestFailure("the peer has not closed the connection of request \(request.number)")
        }
        return time
    }

    /// Whether the peer has closed the connection of a request, as far as the server has noticed.
    public func isClosed(_ request: UpstreamRequest) -> Bool {
        state.withLock { $0.closed[request.connection] != nil }
    }

    /// Waits until the script of a request has run to its end.
    public func waitForEnd(of request: UpstreamRequest) throws {
        guard state.wait(until: { $0.finished.contains(request.number) ? true : nil }) != nil else {
            throw TestFailure("the script of request \(request.number) has not ended")
        }
    }

    /// Refuses further connections and ends all scripts.
    public func stop() {
        stopped.open()
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
    }

    private func serve(_ connection: TCPConnection) {
        let number = state.withLock { state in
            state.connections += 1
            return state.connections - 1
        }
        var reader = MessageReader(connection, stop: stopped)
        while let (head, body) = reader.nextRequest() {
            let isProbe = head.method == "GET" || head.method == "HEAD"
            let request = state.withLock { state in
                let request = UpstreamRequest(
                    number: isProbe ? state.probes.count : state.requests.count, connection: number,
                    method: head.method,
                    path: head.target, fields: head.fields, body: body, time: monotonicSeconds())
                if isProbe { state.probes.append(request) } else { state.requests.append(request) }
                return request
            }
            let goesOn = play(isProbe ? (probing ?? probeAnswer)(request) : behaviour(request), on: connection)
            if !isProbe { _ = state.withLock { $0.finished.insert(request.number) } }
            // A client of HTTP/1.0 reads up to the end of the connection.
            guard goesOn, !head.startLine.hasSuffix("HTTP/1.0") else { break }
        }
        connection.close()
        state.withLock { $0.closed[number] = $0.closed[number] ?? monotonicSeconds() }
    }

    /// Runs the steps; returns `false` at the end of the connection.
    private func play(_ steps: [UpstreamStep], on connection: TCPConnection) -> Bool {
        for step in steps {
            switch step {
            case .send(let bytes):
                guard connection.send(bytes, unless: stopped) else { return false }
            case .sendSplit(let bytes, let size):
                guard connection.send(bytes, inPiecesOf: size) else { return false }
            case .head(let status, let fields):
                let lines = ["HTTP/1.1 \(status) \(reason(status))"] + fields.map { "\($0.0): \($0.1)" }
                guard connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n") else { return false }
            case .chunk(let bytes):
                let head = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
                guard connection.send(head + bytes + [13, 10], unless: stopped) else { return false }
            case .endChunks:
                guard connection.send("0\r\n\r\n") else { return false }
            case .open(let gate):
                gate.open()
            case .wait(let gate):
                if connection.waitForPeerClose(unless: [gate, stopped], upTo: 600) || stopped.isOpen { return false }
            case .acknowledged:
                guard connection.waitUntilAcknowledged() else { return false }
            case .stall:
                _ = connection.waitForPeerClose(unless: [stopped], upTo: 600)
                return false
            case .close:
                return false
            case .reset:
                connection.reset()
                return false
            case .forever(let steps):
                while play(steps, on: connection) {
                    if stopped.isOpen { return false }
                }
                return false
            }
        }
        return true
    }

    private func probeAnswer(_ request: UpstreamRequest) -> [UpstreamStep] {
        if request.method == "HEAD" {
            return [.head(200, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", "17")])]
        }
        switch request.path {
        case "/": return .plain(200, "Ollama is running", type: "text/plain; charset=utf-8")
        case "/api/version": return .plain(200, "{\"version\":\"0.32.15\"}")
        case "/api/tags": return .plain(200, "{\"models\":[]}")
        case "/api/ps": return .plain(200, "{\"models\":[]}")
        default: return .plain(404, "404 page not found", type: "text/plain")
        }
    }

    private func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 302: "Found"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 404: "Not Found"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
