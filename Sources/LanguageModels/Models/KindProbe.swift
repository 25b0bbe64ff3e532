import Bytes
import HTTP
import HTTPClient
import Sockets

/// Finds out by trying what a model server speaks, and below which path. Confined to its shard.
///
/// A chat is tried by posting an empty object: the right endpoint refuses it with a status such as 400, 422 or 500, a wrong
/// path is not found. No model is asked, so no tokens are spent.
struct KindProbe {
    /// A kind, and where it is looked for.
    struct Place: Equatable {
        let kind: UpstreamDescription.Kind
        let origin: Origin
    }

    /// The fields of every request.
    let fields: Fields
    let client: HTTPClient
    let shard: Shard
    /// How long each request may take.
    let timeLimit: Duration

    /// Whether chats of a kind are taken at a place; `nil` when the server does not say.
    func takesChats(_ place: Place) async -> Bool? {
        let request = OutgoingRequest(
            .post, place.kind.dialect(at: place.origin).path, fields: fields, body: Array("{}".utf8))
        guard
            case .success(let answer) = await SmallExchange.send(
                request, to: place.origin, client: client, on: shard, within: timeLimit)
        else { return nil }
        switch answer.head.status.code {
        case 200..<300: return answer.head.fields.mediaType != .html
        case 300..<400: return false
        case 404, 405: return UpstreamErrorBody(answer.body.bytes).isAboutModel
        default: return true
        }
    }

    /// Another place on the same server where it does take chats, and lists its models; `nil` when none is found.
    func place(otherThan given: Place) async -> Place? {
        for place in Self.places(otherThan: given) {
            guard await isPlace(place), await takesChats(place) == true else { continue }
            return place
        }
        return nil
    }

    /// The places at which servers are usually found, the surest first: Ollama speaks two kinds, and says its own name.
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
        // Others have Ollama's lists, too.
        guard
            case .success(let body) = await SmallExchange.get(
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
