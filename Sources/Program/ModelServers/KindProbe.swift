import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// Finds the kind and the base path of a model server by requests. Confined to its shard.
///
/// The probe posts an empty object as a chat. The right endpoint rejects it with a status such as 400, 422 or 500; a wrong path
/// gives 404. The request names no model and spends no tokens.
struct KindProbe {
    /// A kind and the origin to probe.
    struct Endpoint: Equatable {
        let kind: UpstreamDescription.Kind
        let origin: Origin
    }

    /// The fields of every request.
    let fields: Fields
    let client: HTTPClient
    let shard: Shard
    /// Timeout of each request.
    let timeLimit: Duration

    /// Whether an endpoint accepts chats of its kind; `nil` if the answer does not show it.
    func acceptsChats(_ endpoint: Endpoint) async -> Bool? {
        let request = OutgoingRequest(
            .post, endpoint.kind.dialect(at: endpoint.origin.host).path, fields: fields, body: Array("{}".utf8))
        guard
            case .success(let answer) = await BufferedExchange.send(
                request, to: endpoint.origin, client: client, on: shard, within: timeLimit)
        else { return nil }
        switch answer.head.status.code {
        case 200..<300: return answer.head.fields.mediaType != .html
        case 300..<400: return false
        case 404, 405: return UpstreamErrorBody(answer.body.bytes).isAboutModel
        default: return true
        }
    }

    /// Another endpoint of the same server that accepts chats and lists its models; `nil` if there is none.
    func endpoint(otherThan given: Endpoint) async -> Endpoint? {
        for endpoint in Self.usualEndpoints(otherThan: given) {
            guard await isServed(endpoint), await acceptsChats(endpoint) == true else { continue }
            return endpoint
        }
        return nil
    }

    /// The usual endpoints of servers, the most reliable probe first. Ollama speaks two kinds, but identifies itself.
    static func usualEndpoints(otherThan given: Endpoint) -> [Endpoint] {
        let base = given.origin.basePath
        let ending = ["/v1/openai/v1", "/v1"].first { base.hasSuffix($0) } ?? ""
        let root = String(base.dropLast(ending.count))
        var found: [Endpoint] = []
        for root in root.isEmpty ? [root] : [root, ""] {
            let candidates: [(UpstreamDescription.Kind, String)] = [
                (.ollama, root), (.openai, root + "/v1"), (.openai, root + "/v1/openai/v1"), (.llamastack, root),
            ]
            for (kind, base) in candidates {
                let endpoint = Endpoint(kind: kind, origin: given.origin.at(base))
                if endpoint != given, !found.contains(endpoint) {
                    found.append(endpoint)
                }
            }
        }
        return found
    }

    private func isServed(_ endpoint: Endpoint) async -> Bool {
        guard endpoint.kind == .ollama else {
            let catalogue = ModelCatalogue(
                kind: endpoint.kind, origin: endpoint.origin, fields: fields, client: client, shard: shard,
                timeLimit: timeLimit)
            return (try? await catalogue.models()) != nil
        }
        // Other servers offer Ollama's lists too, so the version decides.
        guard
            case .success(let body) = await BufferedExchange.get(
                "/api/version", of: endpoint.origin, fields: fields, client: client, on: shard, within: timeLimit)
        else { return false }
        let bytes = body.bytes
        var reader = JSONReader(bytes)
        return (try? JSONSlice(copying: &reader))?.last("version", .string) != nil
    }
}
