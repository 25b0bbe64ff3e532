import ChatterdBasics
import ChatterdTracing

extension RawMember {
    /// The beginning of the names of members in which a front door keeps what it needs of a request. They are stored with those for
    /// the model server. No model server gets them, and no client can send them.
    private static let keptPrefix = "chatterd"
    /// The name of the object with `instructions`, and with what an answer repeats.
    static let keptName = "chatterd"
    /// The name of the text of the system that the request has in the place of the stored one.
    static let systemName = "chatterd_system"
    /// The name of the list of paths that have no effect.
    static let ignoredName = "chatterd_ignored"
    /// The name of the digest of the client's history up to the answer.
    static let historyName = "chatterd_history"
    /// The name of the path in which a request asks for thoughts that its answer may lack.
    static let thinkingName = "chatterd_thinking"

    /// The name of the list of the tools of the server that the request offers to the model.
    static let residentToolsName = "chatterd_tools"
    /// The name of the list of the servers of tools that the request names.
    static let toolServersName = "chatterd_servers"
    /// The name of the list of calls that the client has approved.
    static let approvedName = "chatterd_approved"

    /// The name of the span of the request.
    static let traceName = "chatterd_trace"

    /// Whether a front door keeps the member.
    public var isKept: Bool { key.utf8.starts(with: Self.keptPrefix.utf8) }

    /// Creates the member with an object of JSON.
    public init(kept object: [UInt8]) {
        self.init(key: Self.keptName, value: object)
    }

    /// Creates the member with a text of the system.
    public init(system text: String) {
        self.init(key: Self.systemName, text: text)
    }

    /// Creates the member with the paths that have no effect of a request.
    public init(ignored paths: [String]) {
        var json = ByteBuffer()
        json.appendJSON { json in json.array { array in paths.forEach { array.string($0) } } }
        self.init(key: Self.ignoredName, value: json.array)
    }

    /// Creates the member with the digest of a history.
    public init(history: HistoryDigest) {
        self.init(key: Self.historyName, text: history.text)
    }

    /// Creates the member with the path in which a request asks for thoughts that its answer may lack.
    public init(optionalThinking path: String) {
        self.init(key: Self.thinkingName, text: path)
    }

    /// Creates the member with the span of the request.
    public init(trace: TraceContext) {
        self.init(key: Self.traceName, text: trace.text)
    }

    /// Creates the member with the calls that the client has approved: JSON objects, as models make calls.
    public init(approved calls: [[UInt8]]) {
        self.init(
            key: Self.approvedName,
            value: Array("[".utf8) + Array(calls.joined(separator: [UInt8(ascii: ",")])) + Array("]".utf8))
    }

    private init(key: String, text: String) {
        var json = ByteBuffer(capacity: text.utf8.count + 2)
        json.append(jsonString: text)
        self.init(key: key, value: json.array)
    }
}

extension [RawMember] {
    /// The object that a front door keeps with the request, as JSON; `nil` if it keeps none.
    public var kept: [UInt8]? {
        // A row that was changed by hand may have another value.
        last { $0.key == RawMember.keptName }.flatMap { $0.value.first == UInt8(ascii: "{") ? $0.value : nil }
    }

    /// The paths that have no effect of the request, as a JSON array; `nil` for none.
    ///
    /// - Parameter withThinking: whether the path in which it asks for thoughts is one of them.
    public func ignored(withThinking: Bool = false) -> [UInt8]? {
        let paths = last { $0.key == RawMember.ignoredName }?.value ?? []
        // A row that was changed by hand may have another value.
        let known = paths.count > 2 && paths.first == UInt8(ascii: "[") ? paths : nil
        guard withThinking, let path = last(where: { $0.key == RawMember.thinkingName })?.value else { return known }
        let others = known.map { $0.dropLast() + [UInt8(ascii: ",")] } ?? [UInt8(ascii: "[")]
        return others + path + [UInt8(ascii: "]")]
    }

    /// The path in which the request asks for thoughts that its answer may lack; `nil` if the answer may not lack them, or if the request
    /// does not ask for thoughts.
    public var optionalThinking: String? { text(RawMember.thinkingName) }

    /// The members without those that ask a model server for thoughts.
    public var withoutThinking: [RawMember] { filter { $0.key != "think" && $0.key != "reasoning_effort" } }

    /// Whether a prompt that does not fit into the context is refused: Ollama's member `truncate` is `false`.
    public var refusesTruncation: Bool { contains { $0.key == "truncate" && $0.value == [UInt8]("false".utf8) } }

    /// The members without the texts that a front door keeps.
    public var withoutTexts: [RawMember] {
        filter { !$0.isKept || $0.key == RawMember.ignoredName || $0.key == RawMember.thinkingName }
    }

    /// The members without those that a front door keeps.
    public var withoutKept: [RawMember] { filter { !$0.isKept } }

    /// The members without the history of a client, which only a request of that client has.
    public var withoutHistory: [RawMember] {
        filter { $0.key != RawMember.historyName && $0.key != RawMember.systemName }
    }

    /// The message of the system that precedes the whole history for this one request, and that no history has; `nil` for none. It is what
    /// the request calls `instructions`, then its own text of the system.
    public var instructions: String? {
        let texts = [keptInstructions, text(RawMember.systemName)].compactMap(\.self).filter { !$0.isEmpty }
        return texts.isEmpty ? nil : texts.joined(separator: "\n\n")
    }

    /// Whether the request has its own messages of the system, or none, in the place of those that its history begins with.
    public var replacesSystem: Bool { contains { $0.key == RawMember.systemName } }

    /// The span of the request whose prompt was stored with the members; `nil` without a trace.
    public var trace: TraceContext? { text(RawMember.traceName).flatMap(TraceContext.init(text:)) }

    /// The history of the client up to the answer, if the client keeps its history and names no conversation.
    public var history: HistoryDigest? { text(RawMember.historyName).flatMap(HistoryDigest.init(parsing:)) }

    /// The limit of calls of tools of the server for the answer, which the request sets; `nil` for none.
    public var maximumToolCalls: Int? {
        guard let kept else { return nil }
        var limit: Int?
        JSONMembers.forEach(of: kept.span) { reader, key, value in
            guard reader.matches(key, "max_tool_calls") else { return }
            var number = JSONReader(kept.span.extracting(value))
            limit = (try? number.integer()) ?? nil
        }
        return limit
    }

    /// The calls that the client has approved, which run before the model is asked.
    public var approvedCalls: [AnswerSteps.Call] {
        guard let value = last(where: { $0.key == RawMember.approvedName })?.value else { return [] }
        return (try? JSONSlice(value))?.elements(first: .max)?.compactMap { AnswerSteps.Call($0) } ?? []
    }

    private var keptInstructions: String? {
        guard let kept else { return nil }
        var text: String?
        JSONMembers.forEach(of: kept.span) { reader, key, value in
            guard reader.matches(key, "instructions") else { return }
            text = String(quotedIn: kept.span.extracting(value))
        }
        return text
    }

    /// The text of a kept member.
    private func text(_ name: String) -> String? {
        last { $0.key == name }.flatMap { String(quotedIn: $0.value.span) }
    }
}

extension String {
    /// The text of a JSON string; `nil` for another value.
    fileprivate init?(quotedIn json: Span<UInt8>) {
        guard json.count >= 2, json[0] == UInt8(ascii: "\"") else { return nil }
        self.init(decodingJSON: json.extracting(1..<(json.count - 1)))
    }
}
