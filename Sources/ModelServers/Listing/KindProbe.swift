import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdLanguageModels
import ChatterdSockets

/// Finds the kind and the base path of a model server by requests. Confined to its shard.
///
/// The probe posts an empty object as a chat. The right endpoint refuses it with a status such as 400, 422 or 500; a wrong path
/// gives 404. The request names no model and spends no tokens.
struct KindProbe {
    /// A kind and the origin to probe.
    struct Place: Equatable {
        let kind: UpstreamDescription.Kind
        let origin: Origin
    }

    /// The fields of every request.
    let fields: Fields
    let client: HTTPClient
    let shard: Shard
    /// Timeout of each request.
    let timeLimit: Duration

    /// Whether a place accepts chats of its kind; `nil` if the answer does not tell.
    func takesChats(_ place: Place) async -> Bool? {
        let request = OutgoingRequest(
            .post, place.kind.dialect(at: place.origin).path, fields: fields, body: Array("{}".utf8))
        guard
            case .success(let answer) = await BufferedExchange.send(
                request, to: place.origin, client: client, on: shard, within: timeLimit)
        else { return nil }
        switch answer.head.status.code {
        case 200..<300: return answer.head.fields.mediaType != .html
        case 300..<400: return false
        case 404, 405: return UpstreamErrorBody(answer.body.bytes).isAboutModel
        default: return true
        }
    }

    /// Another place on the same server that accepts chats and lists its models; `nil` if no place does.
    func place(otherThan given: Place) async -> Place? {
        for place in Self.places(otherThan: given) {
            guard await isPlace(place), await takesChats(place) == true else { continue }
            return place
        }
        return nil
    }

    /// The usual places of servers, the surest probe first. Ollama speaks two kinds, but identifies itself.
    static func places(otherThan given: Place) -> [Place] {
        let base = given.origin.basePath
        let ending = ["/v1/openai/v1", "/v1"].first { base.hasSuffix($0) } ?? ""
        let root = String(base.dropLast(ending.count))
        var found: [Place] = []
        for root in root.isEmpty ? [root] : [root, ""] {
            let places: [(UpstreamDescription.Kind, String)] = [
                (.ollama, root), (.openai, root + "/v1"), (.openai, root + "/v1/openai/v1"), (.llamastack, root),
            ]
            for (kind, base) in places {
                let place = Place(kind: kind, origin: given.origin.at(base))
                if place != given, !found.contains(place) {
                    found.append(place)
                }
            }
        }
        return found
    }

    private func isPlace(_ place: Place) async -> Bool {
        guard place.kind == .ollama else {
            let catalogue = ModelCatalogue(
                kind: place.kind, origin: place.origin, fields: fields, client: client, shard: shard,
                timeLimit: timeLimit)
            return (try? await catalogue.models()) != nil
        }
        // Other servers offer Ollama's lists too, so the version decides.
        guard
            case .success(let body) = await BufferedExchange.get(
                "/api/version", of: place.origin, fields: fields, client: client, on: shard, within: timeLimit)
        else { return false }
        let bytes = body.bytes
        return (try? Self.hasVersion(bytes)) == true
    }

    private static func hasVersion(_ body: Span<UInt8>) throws(JSONError) -> Bool {
        var hasVersion = false
        var reader = JSONReader(body)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isText = try reader.kind() == .string
            hasVersion = hasVersion || isText && reader.matches(key, "version")
            try reader.skipValue()
        }
        return hasVersion
    }
}
