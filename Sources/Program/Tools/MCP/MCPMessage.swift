import ChatterdBasics

/// A revision of the Model Context Protocol. Requests for tools are the same in all of them.
enum MCPRevision: Sendable, Equatable {
    /// Each request is complete in itself: `_meta` names the revision and the client.
    case stateless
    /// A connection begins with `initialize`, in which both sides agree on a version, and an HTTP server may give it a session.
    case handshake(version: String)

    /// The version that chatterd asks for in a handshake.
    static let latestHandshake = "2025-11-25"
    /// The versions that chatterd can speak after a handshake.
    static let handshakes = [latestHandshake, "2025-06-18", "2025-03-26", "2024-11-05"]

    /// The version, a date.
    var version: String {
        switch self {
        case .stateless: "2026-07-28"
        case .handshake(let version): version
        }
    }
}

/// A request to a server, a JSON-RPC 2.0 message.
struct MCPRequest: Sendable {
    let id: Int
    let method: String
    /// The name of the tool, which the stateless revision repeats as a field of HTTP.
    let name: String?
    let revision: MCPRevision
    let json: [UInt8]

    /// Creates a request; `writeParameters` writes the members of its parameters.
    init(
        _ method: String, id: Int, name: String? = nil, revision: MCPRevision,
        writeParameters: (inout JSONWriter) -> Void = { _ in }
    ) {
        self.id = id
        self.method = method
        self.name = name
        self.revision = revision
        json = Self.message(method, id: id, isStateless: revision == .stateless, writeParameters)
    }

    /// The message that begins a connection of the revision with a handshake.
    static func initialize(id: Int) -> MCPRequest {
        MCPRequest("initialize", id: id, revision: .handshake(version: MCPRevision.latestHandshake)) { json in
            json.member("protocolVersion", MCPRevision.latestHandshake)
            json.name("capabilities")
            json.object { _ in }
            json.name("clientInfo")
            writeClient(to: &json)
        }
    }

    /// The message that ends the request; `nil` for the first one of a connection, which cannot be cancelled.
    var cancellation: [UInt8]? {
        guard method != "initialize" else { return nil }
        return Self.notification("notifications/cancelled") { $0.member("requestId", id) }
    }

    /// A notification, which has no answer.
    static func notification(
        _ method: String, _ writeParameters: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        message(method, id: nil, isStateless: false, writeParameters)
    }

    private static func message(
        _ method: String, id: Int?, isStateless: Bool, _ writeParameters: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("jsonrpc", "2.0")
                json.member("id", id)
                json.member("method", method)
                json.name("params")
                json.object { json in
                    writeParameters(&json)
                    if isStateless { writeMeta(to: &json) }
                }
            }
        }
        return buffer.array
    }

    private static func writeMeta(to json: inout JSONWriter) {
        json.name("_meta")
        json.object { json in
            json.member("io.modelcontextprotocol/protocolVersion", MCPRevision.stateless.version)
            json.name("io.modelcontextprotocol/clientInfo")
            writeClient(to: &json)
            json.name("io.modelcontextprotocol/clientCapabilities")
            json.object { _ in }
        }
    }

    private static func writeClient(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", "chatterd")
            json.member("version", "1")
        }
    }
}

/// Why a request to a server has no result.
enum MCPFailure: Error, Sendable, Equatable {
    /// The server cannot be reached, or does not speak the protocol; the text says why.
    case unusable(String)
    /// The server answered with an error of JSON-RPC.
    case refused(String)
    /// The server has forgotten the session, so that it has not done what was asked.
    case sessionEnded
    /// The server has not answered within the limit.
    case timedOut
    /// The answer is above its limit.
    case tooLarge

    /// What the model and the log read.
    var reason: String {
        switch self {
        case .unusable(let reason): reason
        case .refused(let message): "the server refused it: \(message)"
        case .sessionEnded: "the server has ended the session"
        case .timedOut: "the server has not answered in time"
        case .tooLarge: "the answer has more than \(MCPAnswer.maximumSize) bytes"
        }
    }
}

/// A message of a server.
enum MCPAnswer {
    /// The limit of a message, in bytes.
    static let maximumSize = 4 << 20

    /// The limit of the id of a request of a server, in bytes: its answer repeats it.
    static let maximumID = 256

    /// What a message is.
    enum Kind {
        case answer(id: Int, Result<JSONSlice, MCPFailure>)
        /// A request of the server. chatterd answers `ping`, and refuses all others.
        case request(id: JSONSlice, method: String)
        case notification
    }

    /// Reads a message; `nil` for a text that is not a message.
    static func read(_ text: [UInt8]) -> Kind? {
        guard let message = try? JSONSlice(text), message.kind == .object else { return nil }
        let id = message.members(first: 16)?.last { $0.name == "id" }?.value
        if let method = message.last("method", .string)?.string {
            guard let id, !id.isNull else { return .notification }
            guard id.range.count <= maximumID else { return nil }
            return .request(id: id, method: method)
        }
        guard let number = id?.integer else { return nil }
        if let result = message.last("result", .object) { return .answer(id: number, .success(result)) }
        guard let error = message.last("error", .object) else { return nil }
        let text = error.last("message", .string)?.string ?? "no reason"
        return .answer(
            id: number,
            .failure(.refused(String(decoding: Array(text.utf8).prefix(1_000), as: UTF8.self))))
    }

    /// The answer to a request of a server.
    static func reply(to id: JSONSlice, method: String) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("jsonrpc", "2.0")
                json.name("id")
                json.raw(id.bytes.span)
                guard method != "ping" else {
                    json.name("result")
                    json.object { _ in }
                    return
                }
                json.name("error")
                json.object { json in
                    json.member("code", -32_601)
                    json.member("message", "the client does not have this method")
                }
            }
        }
        return buffer.array
    }
}
