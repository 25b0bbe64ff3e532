extension Log {
    /// A word of a closed set: a literal of the program, or the raw value of one of its enumerations.
    public struct Word: Sendable, Hashable, ExpressibleByStringLiteral {
        let text: String

        /// Takes a literal.
        public init(stringLiteral literal: StaticString) {
            text = literal.description
        }

        /// Takes a word that the caller has found in a closed set.
        public init(known word: String) {
            text = word
        }

        /// Takes a case of an enumeration.
        public init<Value: RawRepresentable & CaseIterable>(_ value: Value) where Value.RawValue == String {
            text = value.rawValue
        }
    }

    /// All that is told of a request.
    public struct Request: Sendable {
        /// The request's id: the client's, or ours.
        public var id: String
        /// The route that took it, such as `/llmchat`; never the path as sent.
        public var route: Word
        /// The method.
        public var method: String
        /// The status that was sent; 0 when there was none.
        public var status: Int
        /// The appID, where the request has one.
        public var appID: String?
        /// Bytes read for the request, its head included.
        public var bytesIn: Int
        /// Bytes written for the response, its head included.
        public var bytesOut: Int
        /// Nanoseconds from the first byte of the request to the first of the response, if there was one.
        public var firstByte: UInt64?
        /// Nanoseconds from the first byte of the request to the last of the response.
        public var total: UInt64
        /// How it ended: `ok`, or the code of the error.
        public var code: Word

        /// Makes the record of a request.
        public init(
            id: String, route: Word, method: String, status: Int, appID: String? = nil, bytesIn: Int = 0,
            bytesOut: Int = 0, firstByte: UInt64? = nil, total: UInt64, code: Word = "ok"
        ) {
            self.id = id
            self.route = route
            self.method = method
            self.status = status
            self.appID = appID
            self.bytesIn = bytesIn
            self.bytesOut = bytesOut
            self.firstByte = firstByte
            self.total = total
            self.code = code
        }
    }

    /// What an event may tell.
    public enum Field: Sendable {
        /// The id of the request that it belongs to.
        case id(String)
        /// The appID, shown as the configuration says.
        case appID(String)
        /// The name of a model server.
        case upstream(String)
        /// The name of a model.
        case model(String)
        /// A network address.
        case address(String)
        /// The program's version.
        case version(String)
        /// The code of an error.
        case code(Word)
        /// What kind of thing it was about, such as a signal or a phase.
        case subject(Word)
        /// A number of things.
        case count(Int)
        /// A number of bytes.
        case bytes(Int)
        /// Which try it was.
        case attempt(Int)
        /// A time in milliseconds.
        case milliseconds(Int)
        /// What was done, in the words of a part of the server: never what came from a client or a model.
        case detail(String)
        /// The words of a database, a model server or the system about a failure: their own, never what was sent to them.
        case error(String)
    }
}
