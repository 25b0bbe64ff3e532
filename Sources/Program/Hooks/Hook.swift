import ChatterdBasics
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity

/// A server that an operator has chatterd ask about prompts and answers, or tell of the ends of replies: docs/hooks.md.
public struct Hook: Sendable {
    /// What a hook gets.
    public enum Event: String, Sendable, CaseIterable {
        /// The messages of a prompt, before they are stored.
        case prompt
        /// The answer of a model, before clients see it.
        case answer
        /// The end of a reply, after it is stored.
        case end
    }

    /// What happens to a prompt or an answer if the hook does not answer, or is not understood.
    public enum FailurePolicy: String, Sendable, CaseIterable {
        case refuse
        case allow
    }

    /// The name, for the log and the deliveries that are stored.
    public let name: String
    /// The server.
    public let origin: Origin
    /// Path and query of its requests.
    public let path: String
    public var events: Set<Event> = []
    /// The apps of whose conversations it gets anything.
    public var apps = AppSelection()
    /// The further fields of its requests.
    public var fields = Fields()
    /// The limit of a request.
    public var timeout = Duration.seconds(5)
    public var onFailure = FailurePolicy.refuse
    /// Signs its requests; `nil` for none.
    public var key: AuthenticationKey?
    /// Whether the end of a reply comes with its text.
    public var includesText = false

    public init(name: String, origin: Origin, path: String) {
        self.name = name
        self.origin = origin
        self.path = path
    }

    /// Whether the hook gets this of the conversations of an app.
    public func gets(_ event: Event, of app: String) -> Bool { events.contains(event) && apps.contains(app) }
}
