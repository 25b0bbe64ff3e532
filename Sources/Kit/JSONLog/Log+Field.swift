extension Log {
    /// A field of an event.
    public enum Field: Sendable {
        /// The id of the request that the event belongs to.
        case id(String)
        /// The appID, shown as the configuration says.
        case appID(String)
        /// The name of a model server.
        case upstream(String)
        /// The name of the model server that is asked next.
        case next(String)
        /// The name of a tool of the server, or of a server of tools.
        case tool(String)
        /// The name of a hook.
        case hook(String)
        /// The name of an issuer of tokens.
        case issuer(String)
        /// The name of a model.
        case model(String)
        /// A network address.
        case address(String)
        /// The program's version.
        case version(String)
        /// The code of an error.
        case code(Word)
        /// The kind of thing that the event is about, such as a signal or a phase.
        case subject(Word)
        /// A number of things.
        case count(Int)
        /// A number of bytes.
        case bytes(Int)
        /// The number of an attempt.
        case attempt(Int)
        /// A time in milliseconds.
        case milliseconds(Int)
        /// An action of a part of the server, in its own words; never a text of a client or a model.
        case detail(String)
        /// The words of a database, a model server or the system about a failure; never a text that was sent to them.
        case error(String)
    }
}
