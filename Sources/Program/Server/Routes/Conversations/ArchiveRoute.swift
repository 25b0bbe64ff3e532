import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `GET /conversations/:c`, and the fork, export and import of a conversation: docs/api.md.
struct ArchiveRoute: Sendable {
    /// The maximum number of copies of a file while it is stored: the body, the columns, the parameters of the statement, libpq's output.
    private static let copies = 5

    let services: ShardedServices
    let usage: UsageStore
    let memory: MemoryBudget
    let unsentLimit: Int

    /// Lists a page of the messages.
    @Sendable func read(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let key = try conversation(request, responder, principal)
        let page = try await services[request].archive.page(of: key, try request.pageWindow())
        responder.respond(json: page.json, fields: Self.momentary, memory: page.memory)
    }

    /// Copies a branch into another conversation of the same owner.
    @Sendable func fork(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let source = try conversation(request, responder, principal)
        if request.body.count > 0 {
            try request.requireJSON(like: #"{"reply":"9a3c1f52-6a0e-4c43-a1ce-6f0be9c7d3f1"}"#)
        }
        let fork = try ForkRequest(try request.smallBody)
        let name = fork.conversation ?? ReplyID.random(in: Partition(of: source.owner)).description
        let target = ConversationKey(source.owner, name: name)
        try principal.check(target)
        try target.requireNewName()
        try await count(principal)
        try await services[request].archive.fork(source, at: fork.reply, to: target, title: fork.title)
        respond(to: responder, .created, with: target, principal)
    }

    /// Sends all rows as lines of JSON.
    @Sendable func export(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let key = try conversation(request, responder, principal)
        let archive = services[request].archive
        let export = try await archive.export(key)
        guard request.method != .head else {
            responder.stream(.ok, fields: Self.exportFields).finish()
            return
        }
        let exporter = ConversationExporter(
            export, from: archive, unsentLimit: unsentLimit, until: services[request].watch(principal))
        try await exporter.run(to: responder, fields: Self.exportFields)
    }

    /// Stores an export as a new conversation, or the next piece of one.
    @Sendable func importFile(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try conversation(request, responder, principal)
        try key.requireNewName()
        let isPiece = try request.isPiece()
        try request.requireJSON(like: "the lines of GET /conversations/:c/export")
        guard request.body.expect(copies: Self.copies) else { throw RelayError(overloading: memory) }
        try await count(principal)
        let imported = try await services[request].archive.importFile(
            request.body.bytes, isPiece: isPiece, into: key)
        request.body.releaseBytes()
        respond(to: responder, imported.isNew ? .created : .ok, with: key, principal) { json in
            json.member("rows", imported.rows)
            json.member("complete", imported.isComplete)
        }
    }

    /// Counts a request that stores many messages against the requests per minute of the principal.
    ///
    /// - Throws: `rateLimited`; errors of the store.
    private func count(_ principal: Principal) async throws(RelayError) {
        guard let meter = principal.meter?.ofRequests, meter.isLimited else { return }
        let id = ReplyID.random()
        _ = try await usage.charge(meter, for: id, bytes: 0, answer: 0)
        await usage.settle(id, promptTokens: 0, answerTokens: 0)
    }

    private func conversation(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) throws(RelayError) -> ConversationKey {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        return key
    }

    /// Answers with the name of a conversation and its location. The location names the app unless the credential does.
    private func respond(
        to responder: Responder, _ status: Status, with key: ConversationKey, _ principal: Principal,
        _ more: (inout JSONWriter) -> Void = { _ in }
    ) {
        var path = "/conversations/\(key.name.percentEncoded)"
        if principal.owner == nil {
            path += "?appID=\(key.owner.app.percentEncoded)"
        }
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("conversation", key.name)
                more(&json)
            }
        }
        responder.respond(status, json: body, fields: FieldValue(validating: path).map { [.location: $0] } ?? [:])
    }

    /// A cache must not keep a list that changes (RFC 9111 4.2.2).
    private static let momentary: Fields = [.cacheControl: "no-store"]

    private static let exportFields: Fields = [.contentType: "application/x-ndjson", .cacheControl: "no-store"]
}

extension Request {
    /// The page that the query asks for.
    ///
    /// - Throws: `invalidRequest`.
    fileprivate func pageWindow() throws(RelayError) -> ConversationPage.Window {
        var window = ConversationPage.Window()
        if let limit = try number("limit", in: 1...Int64(ConversationPage.Window.largestLimit)) {
            window.limit = Int(limit)
        }
        let before = try number("before", in: 0...Int64.max)
        let after = try number("after", in: 0...Int64.max)
        switch (before, after) {
        case (nil, nil): break
        case (let before?, nil): window.edge = .before(before)
        case (nil, let after?): window.edge = .after(after)
        default: throw RelayError(.invalidRequest, "A request may have before or after, not both.")
        }
        return window
    }

    private func number(_ name: String, in limits: ClosedRange<Int64>) throws(RelayError) -> Int64? {
        guard let text = head.target.queryItem(name) else { return nil }
        guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let value = Int64(text), limits.contains(value) else {
            throw RelayError(
                .invalidRequest, "\(name) must be a whole number from \(limits.lowerBound) to \(limits.upperBound).")
        }
        return value
    }

    /// Whether the body may be a piece of a file.
    fileprivate func isPiece() throws(RelayError) -> Bool {
        switch head.target.queryItem("continue") {
        case nil, "0": return false
        case "1": return true
        default: throw RelayError(.invalidRequest, "continue must be 0 or 1.")
        }
    }
}

extension String {
    /// The text as a segment or an item of a query: all bytes but unreserved ones are escaped (RFC 3986 2.1, 2.3).
    fileprivate var percentEncoded: String {
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded.append("%")
                encoded.append(digits[Int(byte >> 4)])
                encoded.append(digits[Int(byte & 15)])
            }
        }
        return encoded
    }
}
