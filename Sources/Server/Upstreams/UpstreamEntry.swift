import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay

/// A model server of the list, and whether this process can ask it.
struct UpstreamEntry: Sendable {
    /// Where it came from.
    enum Origin: String, Sendable {
        /// The environment of a process.
        case environment
        /// A request.
        case api
        /// This process alone: the built-in model.
        case builtIn = "built-in"
    }

    let name: String
    /// The JSON form, as it stands in the row.
    let document: [UInt8]
    let origin: Origin
    let revision: Int
    /// What it speaks; nothing when its description cannot be read.
    let kind: UpstreamDescription.Kind?
    /// The models of the server, as far as its description can be read.
    let names: UpstreamNames
    /// The JSON form as it was read, without secrets that somebody has written into the row; nothing when it cannot be read.
    let shown: [UInt8]?
    /// What this process asks it with, or why it cannot.
    let outcome: Result<PreparedUpstream, UpstreamKeys.Problem>

    /// What this process asks it with.
    var prepared: PreparedUpstream? { try? outcome.get() }

    /// The reason why this process cannot ask the server, for the administrator.
    var problem: String? { failure?.message }

    /// The reason why this process cannot ask the server, for clients: without names of variables and files.
    var publicProblem: String? { failure.map { "This server is not set up to ask it: \($0.reason.rawValue)." } }

    /// The server for the directory while this process cannot ask it.
    var unusable: UnusableUpstream? {
        failure.map { UnusableUpstream(names, reason: $0.reason.rawValue, detail: $0.message) }
    }

    private var failure: UpstreamKeys.Problem? {
        guard case .failure(let problem) = outcome else { return nil }
        return problem
    }

    /// Appends the JSON form with what there is to know beside it.
    func append(to buffer: inout ByteBuffer) {
        if let shown {
            buffer.append(shown.span.extracting(..<(shown.count - 1)))
        } else {
            // Nobody knows what somebody has written there.
            buffer.append("{\"name\":")
            buffer.append(jsonString: name)
        }
        buffer.append(",\"origin\":")
        buffer.append(jsonString: origin.rawValue)
        if let problem {
            buffer.append(",\"problem\":")
            buffer.append(jsonString: problem)
        }
        buffer.append("}")
    }
}
