import ChatterdRelay
import ChatterdTestSupport

extension Stage {
    /// Sends a prompt with further members or fields, and reads the answer to its end.
    func ask(
        _ appID: String, _ prompt: String, adding members: String = "", stream: Bool = true,
        fields: [(String, String)] = []
    ) throws -> HTTPExchange {
        let body = chatBody(appID, prompt, stream: stream).dropLast() + members + "}"
        return try RawClient.post(port: port, "/llmchat", json: String(body), fields: fields)
    }

    /// Sends a request without a body, and reads the answer to its end.
    func send(_ method: String, _ path: String, fields: [(String, String)] = []) throws -> HTTPExchange {
        try RawClient.get(port: port, path, method: method, fields: fields)
    }

    /// Reads a reply, after the event if one is given.
    func read(_ location: String, after id: String? = nil) throws -> HTTPExchange {
        try send("GET", location, fields: id.map { [("Last-Event-ID", $0)] } ?? [])
    }

    /// The reply as JSON.
    func describe(_ location: String) throws -> HTTPExchange {
        try send("GET", location, fields: [("Accept", "application/json")])
    }

    /// Stops a reply, and asks again until it has ended. One request waits two seconds at most.
    func stop(_ location: String) throws -> HTTPExchange {
        try eventually("the reply has ended") {
            let answer = try send("DELETE", location)
            return answer.status == 202 ? nil : answer
        }
    }

    /// Begins to read a reply; its events come next.
    func follow(_ location: String, after id: String? = nil) throws -> RawClient {
        let client = try RawClient(port: port)
        client.request("GET", location, fields: id.map { [("Last-Event-ID", $0)] } ?? [])
        let head = try client.readHead()
        guard head.status == 200 else { throw TestFailure(head.startLine) }
        return client
    }

    /// Sends a prompt and reads the head of the answer, which has the location of the reply.
    func begin(
        _ appID: String, _ prompt: String, adding members: String = "", at path: String = "/llmchat"
    ) throws -> (RawClient, location: String) {
        let client = try RawClient(port: port)
        client.post(path, json: String(chatBody(appID, prompt).dropLast() + members + "}"))
        let head = try client.readHead()
        guard head.status == 200, let location = head["Location"] else { throw TestFailure(head.startLine) }
        return (client, location)
    }
}

extension ServerEvent {
    /// The position in the reply after this event.
    var position: ReplyPosition? { id.flatMap { ReplyPosition(parsing: $0) } }

    /// The text of a line.
    var text: String {
        // The text of a reset is for clients that do not know resets.
        guard name != "reset" else { return "" }
        return (object(data ?? "")["message"] as? [String: Any])?["content"] as? String ?? ""
    }

    /// Whether it is the last event.
    var isLast: Bool { name == "error" || object(data ?? "")["done"] as? Bool == true }
}

extension ScriptedUpstream {
    /// Answers with a piece, and with the rest when the gate is open.
    static func answering(_ first: String, then rest: String, behind gate: Gate) throws -> ScriptedUpstream {
        try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token(first)), .wait(for: gate), .chunk(ModelLine.token(rest)),
            .chunk(ModelLine.done()), .endChunks,
        ])
    }

    /// Answers with a piece and stays silent then; answers further requests with `next`.
    static func stalling(after first: String, next: String = "next") throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            request.number == 0 ? [.streamHead, .chunk(ModelLine.token(first)), .stall] : .answer([next])
        }
    }
}
