import ChatterdHTTPServer
import ChatterdRelay

/// The settings of the server, read from the environment and checked.
///
/// Each variable sets one field; `Setting+Table.swift` says which.
public struct Configuration: Sendable {
    /// The listeners and the process.
    public var server = Server()
    /// The credentials that requests need.
    public var access = Access()
    /// The limits of clients.
    public var http = Limits()
    /// How replies are sent to clients.
    public var streams = Streams()
    /// Replies and conversations while they run.
    public var relay = RelayLimits()
    /// The model servers, and the limits of answers.
    public var upstreams = Upstreams()
    /// The tools of the server.
    public var tools = Tools()
    /// The hooks of the operator.
    public var hooks = Hooks()
    /// Where spans of traces are sent.
    public var tracing = Tracing()
    /// PostgreSQL, and the retention of its data.
    public var store = Store()
    /// The content of the log.
    public var log = Logging()
    /// The timeouts that no variable changes.
    public var fixedTimeouts = FixedTimeouts()
    /// The variables that are set, with their values as they may be shown.
    public internal(set) var given: [(name: String, shown: String)] = []

    /// Creates the configuration of an empty environment, without database and model server.
    init() {}
}

extension Configuration: CustomStringConvertible {
    /// The variables that are set, a line each; secrets are not shown.
    public var description: String {
        given.map { "\($0.name)=\($0.shown)" }.joined(separator: "\n")
    }
}
