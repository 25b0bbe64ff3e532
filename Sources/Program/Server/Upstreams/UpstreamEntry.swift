import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdRelay

/// A model server of the list, and whether this process can ask it.
struct UpstreamEntry: Sendable {
    let row: UpstreamRow
    /// The description; `nil` if it has mistakes.
    let description: UpstreamDescription?
    /// The models of the server, as far as its description is readable.
    let names: UpstreamNames
    /// The server as this process asks it, or the reason why this process cannot.
    let outcome: Result<ResolvedUpstream, UpstreamKeys.Problem>

    var name: String { row.name }

    /// The server as this process asks it; `nil` if it cannot.
    var resolved: ResolvedUpstream? { try? outcome.get() }

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

    /// Writes the description in its JSON form, with origin and problem.
    func write(to json: inout JSONWriter, defaults: UpstreamReader.Defaults) {
        json.object { json in
            if let description {
                let document = description.document(defaults: defaults)
                // The members, without the braces around them.
                json.raw(document.span.extracting(1..<(document.count - 1)))
            } else {
                // An unreadable row may contain anything, also secrets.
                json.member("name", name)
            }
            json.member("origin", row.origin.rawValue)
            json.member("problem", problem)
        }
    }
}
