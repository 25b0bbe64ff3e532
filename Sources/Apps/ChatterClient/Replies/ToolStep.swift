/// A call of a tool that runs on the server, in its present state.
public struct ToolStep: Sendable, Hashable, Codable {
    /// How far a call is: one of the constants, or a word of a later server. Keep a `default` in a `switch`.
    public struct State: RawRepresentable, Sendable, Hashable, Codable {
        /// It waits until a person approves it: `ChatterClient.answer(_:of:isApproved:)`.
        public static let asked = State(rawValue: "asked")
        /// It has not begun.
        public static let waiting = State(rawValue: "waiting")
        public static let running = State(rawValue: "running")
        public static let done = State(rawValue: "done")
        public static let failed = State(rawValue: "failed")
        /// It was not made, because no person has approved it.
        public static let refused = State(rawValue: "refused")
        /// Its process or the reply ended while the tool ran: it may have had its effect.
        public static let unknown = State(rawValue: "unknown")

        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    /// The request to the model in whose answer the call is, from 0.
    public let round: Int
    /// The number of the call in that answer, from 0.
    public let index: Int
    /// The id that the model server has given to the call.
    public let id: String?
    public let name: String
    /// An object; `nil` if it is too large to be shown.
    public let arguments: JSONValue?
    public let state: State
    /// The beginning of what the model reads, of a call that has ended.
    public let result: String?
    /// Whether the result is longer.
    public let isCut: Bool?
}
