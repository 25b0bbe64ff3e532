import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport

/// A model server of a list, and further members of its entry.
struct UpstreamOfList {
    let name: String
    let url: String
    let members: String

    init(_ name: String, _ url: String, _ members: String = "") {
        self.name = name
        self.url = url
        self.members = members.isEmpty ? "" : "," + members
    }

    init(_ name: String, _ upstream: ScriptedUpstream, _ members: String = "") {
        self.init(name, upstream.url, members)
    }

    /// The entry of a server that has the model `tiny`. Without a priority among its members it gets the given one.
    fileprivate func entry(priority: Int) -> String {
        let order = members.contains("\"priority\"") ? "" : ",\"priority\":\(priority)"
        return "{\"name\":\"\(name)\",\"kind\":\"ollama\",\"url\":\"\(url)\",\"models\":[\"tiny\"]\(members)\(order)}"
    }
}

/// Settings in which several servers have the model, in order of preference, with failover and retries.
func severalServers(_ list: UpstreamOfList..., adding more: [Setting: String] = [:]) -> [Setting: String] {
    let entries = list.enumerated().map { $1.entry(priority: -$0) }.joined(separator: ",")
    return [.upstreams: "[\(entries)]", .failoverAttempts: "4", .rescueAttempts: "2"].merging(more) { $1 }
}

extension [UpstreamStep] {
    /// A refusal with `Retry-After`.
    static func busy(retryAfter seconds: Int) -> [UpstreamStep] {
        plain(429, "{\"error\":\"too many requests\"}", fields: [("Retry-After", "\(seconds)")])
    }

    /// The first pieces of an answer, in one write so that no timeout passes between them, and then other steps.
    static func beginning(_ tokens: [String], then steps: UpstreamStep...) -> [UpstreamStep] {
        [.streamHead, .chunk(tokens.map { ModelLine.token($0) }.joined())] + steps
    }
}
