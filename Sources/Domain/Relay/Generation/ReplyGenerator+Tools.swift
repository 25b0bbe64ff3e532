import ChatterdBasics
import ChatterdChat

// The tools of the server: their calls leave the answer, run, and their results go to the model in another round.
extension ReplyGenerator {
    /// The end of the content of earlier rounds. A server that fails in this round has no part in it.
    var base: ReplyPosition { tools?.base ?? ReplyPosition() }

    /// The end of the content of this round.
    var roundEnd: ReplyPosition {
        var end = reply.contentEnd
        end.text -= base.text
        end.thinking -= base.thinking
        return end
    }

    /// The messages that follow the history: the steps, and those that ask for a repair.
    var roundMessages: EncodedConversation {
        (tools?.messages ?? EncodedConversation()).followed(by: repair)
    }

    // MARK: - The calls in an answer

    /// Appends a line that has calls of tools, or ends an answer with calls, without the calls: the text as lines that are not the last. The
    /// reply gets the calls for the client at the end of the answer.
    ///
    /// - Returns: `false`, without an effect, for any other line.
    func appendParts(of line: AnswerLine, in bytes: Span<UInt8>, _ tools: ReplyTools) -> Bool {
        if let calls = line.toolCalls {
            tools.takeCalls(bytes.extracting(calls))
            held?.take(calls: bytes.extracting(calls))
        }
        run.callsTools = tools.hasCalls
        guard line.toolCalls != nil || line.isDone && tools.hasAnyCalls else { return false }
        let (writer, time) = (AnswerLineWriter(model: reply.model), context.scheduler.timeOfDay())
        if let thinking = line.thinking, !thinking.range.isEmpty {
            appendLine { writer.append(thinking: text(thinking, in: bytes).span, at: time, to: &$0) }
        }
        if let content = line.content, !content.range.isEmpty {
            appendLine { writer.append(content: text(content, in: bytes).span, at: time, to: &$0) }
        }
        if line.isDone {
            var last = ByteBuffer()
            last.append(emptying: line, in: bytes)
            run.lastLine = LastLine(held == nil ? last.array : HeldAnswer.withoutText(last.array), line, in: bytes)
            // After a review the reply gets them.
            if held == nil, !tools.hasCalls { appendCallsOfClient(tools) }
        }
        return true
    }

    func appendCallsOfClient(_ tools: ReplyTools) {
        guard let calls = tools.takeCallsOfClient() else { return }
        var line = ByteBuffer()
        AnswerLineWriter(model: reply.model).append(
            toolCalls: calls.span, at: context.scheduler.timeOfDay(), to: &line)
        guard let fields = try? AnswerLine(line.bytes) else { return }
        reply.append(LineRun(line: line.bytes, fields: fields))
    }

    private func text(_ string: JSONString, in bytes: Span<UInt8>) -> [UInt8] {
        Array(String(decodingJSON: bytes.extracting(string.range)).utf8)
    }

    private func appendLine(_ write: (inout ByteBuffer) -> Void) {
        var line = ByteBuffer()
        write(&line)
        append(parsing: line.array)
    }

    /// Appends what the model said in earlier rounds.
    func appendContent(of steps: AnswerSteps) {
        for round in steps.rounds {
            appendRound(text: round.text, thinking: round.thinking)
        }
        tools?.base = reply.contentEnd
    }

    // MARK: - Rounds

    /// Stores the calls of the answer, runs their tools, and stores each result. A call whose storing is not confirmed does not run.
    func runTools() async throws(RelayError) -> GenerationRun.Event {
        guard let tools else { return .ranTools(asksAgain: false) }
        let content = try await reply.completeContent()
        tools.beginRound(
            text: Array(content.text.dropFirst(base.text)), thinking: Array(content.thinking.dropFirst(base.thinking)),
            tokens: run.lastLine?.tokens)
        tools.base = reply.contentEnd
        // A round of which no call may run has results too, and the model reads them.
        if !tools.hasOpenCalls { try await store(tools) }
        try await run(tools)
        appendCallsOfClient(tools)
        return .ranTools(asksAgain: reply.contentEnd.toolCalls == 0)
    }

    /// Runs the calls that the client has approved, before the model is asked.
    func runApproved(_ tools: ReplyTools) async throws(RelayError) {
        tools.beginApproved()
        if !tools.hasOpenCalls { try await store(tools) }
        try await run(tools)
    }

    /// Takes over the steps of a reply that another process has left: gives the readers what the model said, and ends its calls.
    func adopt(_ tools: ReplyTools) async throws(RelayError) {
        var stored = StoredSteps()
        try await context.retryWhileStoreIsUnavailable(pause) { [self] () async throws(RelayError) in
            try checkCancellation()
            stored = try await context.store.steps(of: reply.turn, id: reply.id)
        }
        guard let steps = AnswerSteps(in: stored.members.span) else { return }
        // Readers know where a round ends before they get the text of the next one.
        reply.publish(steps)
        tools.adopt(steps, stored.approvals)
        appendContent(of: tools.steps)
        try await store(tools)
        try await run(tools)
    }

    /// The last line with the tokens of all rounds.
    func lastLineOfAllRounds(_ line: [UInt8]) -> [UInt8] {
        guard let tools, !tools.steps.rounds.isEmpty, let fields = try? AnswerLine(line.span) else { return line }
        var result = ByteBuffer(capacity: line.count + 32)
        result.appendJSON { json in
            json.object { json in
                JSONMembers.forEach(of: line.span) { reader, key, value in
                    guard !reader.matches(key, "prompt_eval_count"), !reader.matches(key, "eval_count") else { return }
                    json.member(String(decodingJSON: line.span.extracting(key.range)), raw: line.span.extracting(value))
                }
                json.member("prompt_eval_count", tools.tokens.prompt + (fields.promptTokens ?? 0))
                json.member("eval_count", tools.tokens.answer + (fields.answerTokens ?? 0))
            }
        }
        return result.array
    }

    private func run(_ tools: ReplyTools) async throws(RelayError) {
        // The reply may have been stopped while its calls were stored.
        try checkCancellation()
        while true {
            try await tools.run { [self] () async throws(RelayError) in
                try await store(tools)
            }
            if run.cancellation != nil, tools.isUnstored { try await store(tools) }
            try checkCancellation()
            guard tools.isAsking else { return }
            try await waitForAnswers(tools)
        }
    }

    /// Waits until a call that needs an approval has an answer, which the store keeps. A call without one in time is refused.
    ///
    /// No unavailability of the store ends the wait.
    private func waitForAnswers(_ tools: ReplyTools) async throws(RelayError) {
        // Readers learn of the call after it is stored, so that an answer finds it.
        if tools.isUnstored { try await store(tools) }
        let deadline = now + context.limits.approvalTimeout
        while run.cancellation == nil {
            tools.hasAnswers = false
            do throws(RelayError) {
                if tools.take(try await approvals(of: tools, isLate: now >= deadline)) { break }
            } catch  where error.code == .storeUnavailable {}
            guard run.cancellation == nil, !tools.hasAnswers else { continue }
            await pause.wait(atMost: context.limits.approvalPoll)
        }
        // A reply that ends stores its last state.
        try await store(tools)
    }

    /// The answers to the calls that need an approval. If it is too late for others, those without one have the answer that says so.
    private func approvals(of tools: ReplyTools, isLate: Bool) async throws(RelayError) -> CallApprovals {
        var approvals = try await context.store.approvals(of: reply.turn, id: reply.id)
        guard isLate else { return approvals }
        for place in tools.asked where approvals[place] == nil {
            approvals = try await context.store.answer(.missed, to: place, of: reply.turn, id: reply.id)
        }
        return approvals
    }

    /// A client may have answered a call that waits for an approval.
    func receiveAnswer() {
        guard let tools, tools.isAsking else { return }
        tools.hasAnswers = true
        pause.end()
    }

    /// Stores the steps. The last state of a reply that ends is stored too, if the store is there.
    private func store(_ tools: ReplyTools) async throws(RelayError) {
        let steps = tools.steps.member
        let (turn, id, attempt) = (reply.turn, reply.id, reply.contentEnd.attempt)
        let published = tools.steps
        tools.stored()
        if let cancellation = run.cancellation {
            do throws(RelayError) {
                try await context.store.storeSteps(steps, of: turn, id: id, attempt: attempt)
                reply.publish(published)
            } catch {}
            throw cancellation
        }
        try await context.retryWhileStoreIsUnavailable(pause) { [self] () async throws(RelayError) in
            try checkCancellation()
            try await context.store.storeSteps(steps, of: turn, id: id, attempt: attempt)
        }
        reply.publish(published)
    }
}
