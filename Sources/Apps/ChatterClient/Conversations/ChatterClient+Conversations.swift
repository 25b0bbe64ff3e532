import ChatterdHTTP

extension ChatterClient {
    /// A page of the conversations, those with the newest change first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 200.
    ///   - cursor: the `next` of the page before.
    ///   - filter: whether archived ones are listed.
    ///   - text: a text of 1 to 200 characters that the title or a message has. A page of a search may be empty and have a `next`.
    public func conversations(
        limit: Int = 50, cursor: String? = nil, _ filter: ArchiveFilter = .active, having text: String? = nil
    ) async throws(ChatterError) -> ConversationList {
        var request = ClientRequest(.get, "/conversations")
        request.addQuery([
            ("limit", "\(limit)"), ("cursor", cursor), ("archived", filter.rawValue), ("q", text),
        ])
        return try await result(of: request)
    }

    /// Creates a conversation.
    ///
    /// - Parameters:
    ///   - name: `nil` lets the server choose one.
    ///   - title: `nil` for none.
    ///   - messages: the first messages, as a rule a system prompt.
    public func createConversation(
        name: String? = nil, title: String? = nil, messages: [PromptMessage]? = nil
    ) async throws(ChatterError) -> Conversation {
        try await result(
            of: .post, "/conversations", Creation(conversation: name, title: title, messages: messages))
    }

    /// A page of messages: the last ones, or those before or after a number.
    public func messages(
        of conversation: String, limit: Int = 50, before: Int? = nil, after: Int? = nil
    ) async throws(ChatterError) -> MessagePage {
        var request = ClientRequest(.get, Self.path(of: conversation))
        request.addQuery([
            ("limit", "\(limit)"), ("before", before.map { "\($0)" }), ("after", after.map { "\($0)" }),
        ])
        return try await result(of: request)
    }

    /// Sets the title; `nil` removes it.
    public func rename(_ conversation: String, to title: String?) async throws(ChatterError) -> Conversation {
        try await result(of: .patch, Self.path(of: conversation), ["title": title])
    }

    /// Archives a conversation, or brings it back.
    public func archive(
        _ conversation: String, _ isArchived: Bool = true
    ) async throws(ChatterError) -> Conversation {
        try await result(of: .patch, Self.path(of: conversation), ["archived": isArchived])
    }

    /// Gives a conversation without a title one that a model makes.
    public func makeTitle(
        of conversation: String, model: String? = nil
    ) async throws(ChatterError) -> Conversation {
        try await result(of: .post, "\(Self.path(of: conversation))/title", ["model": model].compactMapValues { $0 })
    }

    /// Copies a branch into a new conversation: up to a reply, or all of the present branch.
    ///
    /// - Returns: the name of the copy.
    public func fork(
        _ conversation: String, at reply: ReplyID? = nil, as name: String? = nil, title: String? = nil
    ) async throws(ChatterError) -> String {
        let copy: Named = try await result(
            of: .post, "\(Self.path(of: conversation))/fork", Fork(reply: reply, conversation: name, title: title))
        return copy.conversation
    }

    /// Deletes a conversation.
    public func delete(_ conversation: String) async throws(ChatterError) {
        let _: Empty = try await result(of: ClientRequest(.delete, Self.path(of: conversation)))
    }

    /// Deletes all conversations of the owner.
    ///
    /// - Returns: their number.
    public func deleteAllConversations() async throws(ChatterError) -> Int {
        var request = ClientRequest(.delete, "/conversations")
        request.addQuery([("all", "1")])
        let deletion: Deletion = try await result(of: request)
        return deletion.deleted
    }

    /// All of a conversation as lines of JSON, in pieces as they arrive. The last line has the number of lines, or an error.
    public func export(_ conversation: String) -> AsyncThrowingStream<[UInt8], any Error> {
        let export = Export(client: self, path: "\(Self.path(of: conversation))/export")
        return AsyncThrowingStream { try await export.next() }
    }

    /// Stores an exported file as a new conversation, or a part of it; parts end at line ends.
    ///
    /// - Parameters:
    ///   - name: the name of the new conversation.
    ///   - lines: the file, or a part of it that the server's `CHATTERD_BODY_LIMIT` permits.
    ///   - isPart: whether this is one of several parts. The first one has the header; each is stored whole or not at all.
    public func importConversation(
        as name: String, _ lines: [UInt8], isPart: Bool = false
    ) async throws(ChatterError) -> ImportResult {
        var request = ClientRequest(.post, "\(Self.path(of: name))/import")
        request.addQuery([("continue", isPart ? "1" : nil)])
        request.fields.add(.contentType, "application/x-ndjson")
        request.body = lines
        return try await result(of: request)
    }

    static func path(of conversation: String) -> String { "/conversations/\(PathEncoding.name(conversation))" }

    private struct Creation: Encodable {
        let conversation: String?
        let title: String?
        let messages: [PromptMessage]?
    }

    private struct Fork: Encodable {
        let reply: ReplyID?
        let conversation: String?
        let title: String?
    }

    private struct Named: Decodable {
        let conversation: String
    }

    private struct Deletion: Decodable {
        let deleted: Int
    }

    /// The body of an export, which begins when it is read.
    private actor Export {
        private let client: ChatterClient
        private let path: String
        private var body: ResponseBody?

        init(client: ChatterClient, path: String) {
            self.client = client
            self.path = path
        }

        func next() async throws(ChatterError) -> [UInt8]? {
            if let body { return try await body.next() }
            let body = try await client.response(to: ClientRequest(.get, path)).body
            self.body = body
            return try await body.next()
        }
    }
}

/// A page of the messages of a conversation, in their order.
public struct MessagePage: Sendable, Hashable, Decodable {
    /// The name of the conversation.
    public let conversation: String
    public let title: String?
    public let messages: [Message]
    /// The numbers of the first and the last message; `nil` in an empty page.
    public let first: Int?
    public let last: Int?
    public let moreBefore: Bool
    public let moreAfter: Bool
}

/// A page of the list of conversations, those with the newest change first.
public struct ConversationList: Sendable, Hashable, Decodable {
    public let conversations: [Conversation]
    /// The cursor of the next page; `nil` on the last one.
    public let next: String?
}

/// The outcome of an import.
public struct ImportResult: Sendable, Hashable, Decodable {
    /// The name of the new conversation.
    public let conversation: String
    /// The number of stored rows so far.
    public let rows: Int
    /// Whether the last line of the file has come.
    public let complete: Bool
}

/// Which conversations a list has.
public enum ArchiveFilter: String, Sendable, Hashable {
    case active = "0"
    case archived = "1"
    case all
}
