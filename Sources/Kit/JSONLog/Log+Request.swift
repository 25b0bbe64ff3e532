extension Log {
    /// The record of an answered request.
    public struct Request: Sendable {
        /// The id of the request, from the client or from the server.
        public var id: String
        /// The pattern of its route, such as `/llmchat`; never the path as sent.
        public var route: Word
        public var method: String
        /// The status of the response; 0 if there was none.
        public var status: Int
        /// The appID, if the request has one.
        public var appID: String?
        /// The key of the conversation, if the request has a reply. Its line has a digest.
        public var conversation: String?
        /// Bytes read for the request, its head included.
        public var bytesIn: Int
        /// Bytes written for the response, its head included.
        public var bytesOut: Int
        /// Time from the first byte of the request to the first of the response; `nil` if there was none.
        public var firstByte: Duration?
        /// Time from the first byte of the request to the last of the response.
        public var total: Duration
        /// The model server that was asked last for the reply, if the request has one.
        public var upstream: String?
        /// The name of the model there.
        public var model: String?
        /// The tokens of the prompt and of the answer, as the model server counts them.
        public var promptTokens: Int?
        public var answerTokens: Int?
        /// Time from the whole request to the first piece of the answer.
        public var firstToken: Duration?
        /// The number of requests to model servers.
        public var attempts: Int?
        /// `ok`, or the code of the error.
        public var code: Word

        public init(
            id: String, route: Word, method: String, status: Int, appID: String? = nil,
            conversation: String? = nil, bytesIn: Int = 0,
            bytesOut: Int = 0, firstByte: Duration? = nil, total: Duration, code: Word = "ok"
        ) {
            self.id = id
            self.route = route
            self.method = method
            self.status = status
            self.appID = appID
            self.conversation = conversation
            self.bytesIn = bytesIn
            self.bytesOut = bytesOut
            self.firstByte = firstByte
            self.total = total
            self.code = code
        }
    }
}
