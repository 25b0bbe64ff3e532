import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdRelay
import ChatterdSockets

/// The clients of the tools that ask servers. Confined to its shard.
///
/// A name is resolved for each connection, and the connection goes to an address that was checked. No redirect is followed.
final class HTTPToolClient {
    private let shard: Shard
    /// For URLs of the operator: for public addresses only, and for private ones too.
    private let clients: (publicOnly: HTTPClient, all: HTTPClient)

    init(on shard: Shard) {
        self.shard = shard
        clients = (Self.client(on: shard, allowsPrivate: false), Self.client(on: shard, allowsPrivate: true))
    }

    private static func client(on shard: Shard, allowsPrivate: Bool) -> HTTPClient {
        var limits = HTTPClientLimits()
        limits.idleConnections = 1
        limits.allowsPrivate = allowsPrivate
        return HTTPClient(shard: shard, limits: limits)
    }

    /// The client of a tool. A URL of the model has one of its own, which keeps nothing: a model may name any number of servers.
    private func client(of action: ToolDescription.HTTPAction) -> HTTPClient {
        guard action.url.origin != nil else { return Self.client(on: shard, allowsPrivate: action.allowsPrivate) }
        return action.allowsPrivate ? clients.all : clients.publicOnly
    }

    /// Makes the request of a call.
    func run(
        _ action: ToolDescription.HTTPAction, of tool: ToolDescription, with arguments: JSONSlice, key: String
    ) async -> ToolResult {
        let target: URLTemplate.Target
        do throws(UsageError) {
            target = try action.url.target(with: arguments)
        } catch {
            return .failure("\(error).")
        }
        if action.url.origin == nil, !Self.permits(target.origin.host, action.hosts) {
            return .failure("this tool may not ask the host of this URL.")
        }
        var fields = action.fields
        if !fields.contains(.accept) { fields.add(.accept, "application/json, text/plain, */*;q=0.1") }
        if !fields.contains(.idempotencyKey), let key = FieldValue(validating: key) { fields.add(.idempotencyKey, key) }
        let hasBody = action.method == .post || action.method == .put || action.method == .patch
        if hasBody { fields.add(.contentType, "application/json") }
        let request = OutgoingRequest(
            action.method, target.path, fields: fields, body: hasBody ? arguments.json : [])
        let outcome = await CollectedExchange.run(
            request, to: target.origin, client: client(of: action), on: shard,
            upTo: tool.terms.maximumSize, within: tool.terms.timeout)
        switch outcome {
        case .success(let response): return Self.result(of: response, action)
        case .failure(.timedOut): return .failure("the server has not answered within \(tool.terms.timeout.text).")
        case .failure(.tooLarge): return .failure("the answer has more than \(tool.terms.maximumSize) bytes.")
        case .failure(.failed(let error)): return .failure("\(error.message).")
        }
    }

    /// Whether a list of hosts has a host. Names are compared as DNS does.
    static func permits(_ host: String, _ hosts: [String]) -> Bool {
        let host = host.lowercased()
        return hosts.contains { pattern in
            let pattern = pattern.lowercased()
            guard pattern.hasPrefix("*") else { return host == pattern }
            return host.hasSuffix(String(pattern.dropFirst()))
        }
    }

    private static func result(
        of response: CollectedExchange.Response, _ action: ToolDescription.HTTPAction
    ) -> ToolResult {
        let status = response.head.status.code
        let body = response.body.bytes
        guard 200..<300 ~= status else {
            guard !(300..<400 ~= status) else {
                return .failure("the server answered with a redirect (\(status)), which is not followed.")
            }
            let text = String(decoding: body.extracting(first: min(body.count, 1_000)).array, as: UTF8.self)
            return .failure("the server answered with status \(status): \(text)")
        }
        guard let pointer = action.pointer else {
            return ToolResult(text: Array(String(decoding: body.array, as: UTF8.self).utf8), isError: false)
        }
        guard let document = try? JSONSlice(body.array) else { return .failure("the answer is not JSON.") }
        guard let value = pointer.value(in: document) else { return .failure("the answer has no such value.") }
        return ToolResult(text: value.string.map { Array($0.utf8) } ?? value.json, isError: false)
    }
}
