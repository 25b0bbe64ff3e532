import ChatterdBasics
import ChatterdChat

@testable import ChatterdRelay

/// A run of a reply with scripted servers. It answers each action, and writes the actions down.
struct ScriptedRun {
    private var run: GenerationRun
    private let candidates: [FailoverPlan.Candidate]
    private let form: AnswerForm?
    private var now = Instant(nanoseconds: 0)
    private var action: GenerationRun.Action
    private var actions: [String] = []
    /// The content of the reply.
    private(set) var text = ""
    /// The events that replace the usual answer to the next action of a kind: "fit", "slot", "restart" or "read".
    var answers: [String: [GenerationRun.Event]] = [:]
    /// The report of each fitted prompt.
    var report = PromptReport()

    init(
        _ candidates: FailoverPlan.Candidate..., isThinkingOptional: Bool = false, schema: String? = nil,
        configure: (inout ScriptedRun) -> Void = { _ in }
    ) {
        form = schema.map { AnswerForm.schema(Array($0.utf8)) }
        run = GenerationRun(RelayLimits(), isThinkingOptional: isThinkingOptional, hasForm: form != nil)
        self.candidates = candidates
        action = run.begin()
        configure(&self)
        perform()
    }

    /// The actions since the last call.
    mutating func transcript() -> String {
        defer { actions = [] }
        return actions.joined(separator: ", ")
    }

    // MARK: - The server

    /// The server sends a line with text.
    mutating func send(_ text: String) {
        receive("{\"message\":{\"content\":\"\(text)\"},\"done\":false}")
    }

    /// The server sends its last line, and the answer ends.
    mutating func complete() {
        receive("{\"message\":{\"content\":\"\"},\"done\":true}")
        end()
    }

    /// The answer ends; without an error it is complete.
    mutating func end(_ error: ModelError? = nil) {
        run.answerEnded(error)
        proceed()
    }

    mutating func fail(_ code: ModelError.Code, _ hint: ModelError.Hint? = nil, _ message: String = "") {
        var error = ModelError(code, message)
        error.hint = hint
        end(error)
    }

    /// The reply is cancelled.
    mutating func cancel(_ reason: RelayError) {
        run.cancel(reason)
        proceed()
    }

    private mutating func receive(_ line: String) {
        let line = Array(line.utf8)
        guard let fields = try? AnswerLine(line.span) else { return actions.append("malformed") }
        switch run.lineArrived(line.span, fields) {
        case .append: append(line, fields)
        case .appendWithoutText: actions.append("append without text")
        case .appendText(let text, let hasMore):
            let piece = String(decoding: text, as: UTF8.self)
            self.text += piece
            actions.append("append \"\(piece)\"")
            if hasMore { append(line, fields) }
        case .none: actions.append("hold")
        case .proceed:
            actions.append("proceed")
            proceed()
        case .cancel:
            actions.append("cancel")
            proceed()
        }
    }

    private mutating func append(_ line: [UInt8], _ fields: AnswerLine) {
        if fields.isDone { run.lastLine = LastLine(line, fields, in: line.span) }
        guard let content = fields.content else { return }
        text += String(decodingJSON: line.span.extracting(content.range))
    }

    // MARK: - The loop

    private mutating func proceed() {
        guard case .wait = action else { return }
        next(.progressed)
        perform()
    }

    private mutating func next(_ event: GenerationRun.Event) {
        let position = ReplyPosition(text: text.utf8.count)
        action = run.handle(event, at: now, content: position)
    }

    private mutating func answer(_ kind: String, _ usual: GenerationRun.Event) {
        let event = answers[kind]?.isEmpty == false ? answers[kind]?.removeFirst() : nil
        next(event ?? usual)
    }

    /// Performs actions until the run waits for the server or ends.
    private mutating func perform() {
        while true {
            switch action {
            case .listCandidates(let withContexts):
                if withContexts { actions.append("list contexts") }
                next(.candidates(candidates))
            case .backOff(let duration, let isForRestart):
                if duration > .zero { actions.append("pause \(duration / .milliseconds(1)) ms") }
                if isForRestart { actions.append("for restart") }
                now = now + duration
                answer("pause", .backedOff)
            case .readText:
                actions.append("read")
                answer("read", .text(Array(text.utf8)))
            case .fit(let server):
                actions.append("fit \(server)")
                answer("fit", .fitted(report))
            case .acquireSlot: answer("slot", .slotAcquired)
            case .send:
                actions.append("send")
                next(.sent)
            case .review:
                actions.append("review")
                answer("review", .reviewed)
            case .restart:
                actions.append("restart")
                if answers["restart"]?.isEmpty != false { text = "" }
                answer("restart", .restarted)
            case .replay(let lines):
                for line in lines {
                    guard let fields = try? AnswerLine(line.span) else { continue }
                    append(line, fields)
                }
                next(.replayed)
            case .judge(let verdict):
                actions.append(Self.text(for: verdict))
                next(.judged)
            case .runTools:
                actions.append("run tools")
                // The content of the next round begins here.
                text = ""
                answer("tools", .ranTools(asksAgain: true))
            case .check:
                let violation = form?.outcome(of: Array(text.utf8))?.violation
                actions.append(violation.map { "violates \($0.keyword)" } ?? "fits")
                next(.checked(violation))
            case .learn(let error):
                actions.append("learn \(error.code)")
                next(.learned(report))
            case .abandon:
                actions.append("abandon")
                next(.abandoned)
            case .wait: return actions.append("wait")
            case .complete(_, let refused):
                return actions.append(refused == nil ? "complete" : "complete, too long before")
            case .fail(let error, let blamesServers):
                return actions.append("fail \(error.code.rawValue)\(blamesServers ? ", blame servers" : "")")
            case .failWithoutServer(let wasRemoved):
                return actions.append(wasRemoved ? "no server is left" : "no server")
            }
        }
    }

    private static func text(for verdict: GenerationRun.Verdict) -> String {
        switch verdict {
        case .answered: "answered"
        case .unknown: "unknown"
        case .suspected(let error): "suspect \(error.code)"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
