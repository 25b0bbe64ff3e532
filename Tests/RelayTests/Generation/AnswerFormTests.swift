import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Answers that are checked against the form that their request asks for.
@Suite(.timeLimit(.minutes(30))) struct AnswerFormTests {
    private let schema = #"{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}"#

    @Test func answerWithItsFormIsStoredAsStreamed() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete(#"{"age": 7}"#)
        #expect(post.isComplete && post.reader.resets == 0)
        #expect(relay.database.transcript() == ["user: Hi", #"assistant: {"age": 7} [complete]"#])
        let provenance = try #require(relay.database.provenances.values.first)
        #expect(provenance.format.map { String(decoding: $0, as: UTF8.self) } == #"{"fits":true}"#)
    }

    @Test func violationIsRepairedOnce() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete(#"{"age":"x"}"#)
        // Readers keep the text until the repair begins.
        #expect(post.reader.text == #"{"age":"x"}"# && post.reader.ends.isEmpty)
        let repair = try relay.answer(1)
        #expect(repair.prompts.count == 3 && repair.prompts[1] == #"assistant: {"age":"x"}"#)
        #expect(repair.prompts[2].contains("The value at /age is not of the type integer."))
        #expect(repair.prompts[2].contains(schema))
        #expect(repair.request.passThrough.map(\.key) == ["format"])
        try relay.complete(#"{"age":8}"#)
        #expect(post.isComplete && post.reader.resets == 1 && post.reader.text == #"{"age":8}"#)
        #expect(relay.database.transcript() == ["user: Hi", #"assistant: {"age":8} [complete]"#])
        let provenance = try #require(relay.database.provenances.values.first)
        #expect(
            provenance.format.map { String(decoding: $0, as: UTF8.self) }
                == #"{"fits":true,"repaired":{"pointer":"/age","keyword":"type"}}"#)
        #expect(provenance.parts.map(\.text) == [0..<9])
    }

    @Test func secondViolationIsAnErrorAfterTheStoredText() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete("no")
        try relay.complete("{}")
        #expect(post.code == .model(.formViolated) && post.isOver && relay.model.generations.count == 2)
        let error = try #require(post.reader.ends.first ?? nil)
        #expect(
            error.message
                == #"The answer does not have the form that was asked for. The answer lacks the member "age"."#)
        #expect(error.detail == "keyword required")
        #expect(post.reader.text == "{}")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: {} [failed]"])
    }

    @Test func nextPromptGetsTheRepairedAnswerOnly() throws {
        let relay = TestRelay()
        relay.post("Hi", format: schema)
        try relay.complete("no")
        try relay.complete(#"{"age":1}"#)
        relay.post("More")
        #expect(try relay.answer().prompts == ["user: Hi", #"assistant: {"age":1}"#, "user: More"])
    }

    @Test func textOfTheLastLineIsChecked() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: "\"json\"")
        let answer = try relay.answer()
        answer.send(#"{"a":"#)
        answer.sendLine(#"{"model":"m","created_at":"","message":{"role":"assistant","content":"1}"},"done":true}"#)
        answer.end(nil)
        relay.clock.settle()
        #expect(post.isComplete && relay.model.generations.count == 1)
    }

    @Test func answersThatAreNoWholeValueAreNotChecked() throws {
        for line in [
            #"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length"}"#,
            #"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true}"#,
        ] {
            let relay = TestRelay()
            let post = relay.post("Hi", format: schema)
            try relay.answer().send("{")
            try relay.answer().sendLine(line)
            try relay.answer().end(nil)
            relay.clock.settle()
            #expect(post.isComplete && relay.model.generations.count == 1)
        }
    }

    @Test func checkThatTakesLongLeavesTheEventLoop() throws {
        let relay = TestRelay()
        // Both texts are short, and their product is not.
        let post = relay.post("Hi", format: #"{"pattern":"^(a|aa|aaa)*b$"}"#)
        try relay.complete("\"" + String(repeating: "a", count: 9_000) + "\"")
        #expect(relay.clock.workSizes.count == 3 && relay.clock.workSizes.last == .max)
        #expect(try relay.answer(1).prompts.last?.contains("does not match `pattern`") == true)
        try relay.complete("\"aab\"")
        #expect(post.isComplete && relay.clock.workSizes.count == 4 && relay.clock.workSizes[3] < 100)
    }

    @Test func answersAreNotCheckedIfTheOperatorSaysSo() throws {
        var limits = RelayLimits()
        limits.checksForms = false
        let relay = TestRelay(limits)
        let post = relay.post("Hi", format: schema)
        try relay.complete("no")
        #expect(post.isComplete && relay.model.generations.count == 1 && relay.clock.workSizes.isEmpty)
        let other = relay.post("Hi", appID: "other", format: #"{"type":"object","type":"array"}"#)
        try relay.complete("no")
        #expect(other.isComplete)
    }

    @Test func promptWithoutAFormIsNotChecked() throws {
        let relay = TestRelay()
        for format in [nil, "null", "\"\"", "\"yaml\""] {
            let post = relay.post("Hi", format: format)
            try relay.complete("no")
            #expect(post.isComplete)
        }
        #expect(relay.clock.workSizes.isEmpty)
        #expect(relay.database.provenances.values.allSatisfy { $0.format == nil })
    }

    @Test func repairThatIsCutHasNoVerdict() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete("no")
        try relay.answer().send("{")
        try relay.answer().sendLine(
            #"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length"}"#)
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "{")
        #expect(try #require(relay.database.provenances.values.first).format == nil)
    }

    @Test func repeatedRequestGetsTheRepairedReply() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", key: "k", format: schema)
        try relay.complete("no")
        let again = relay.post("Hi", key: "k", format: schema)
        try relay.complete(#"{"age":1}"#)
        #expect(again.id == post.id && again.reader.text == #"{"age":1}"# && relay.model.generations.count == 2)
        let later = relay.post("Hi", key: "k", format: schema)
        relay.clock.settle()
        #expect(later.id == post.id && later.reader.text == #"{"age":1}"#)
    }

    @Test func schemaThatCannotBeReadIsRefusedBeforeTheStore() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: #"{"type":"object","type":"array"}"#)
        #expect(post.refusal?.code == .invalidRequest && post.refusal?.parameter == "format")
        #expect(relay.database.transcript().isEmpty && relay.model.generations.isEmpty)
    }

    @Test func longAnswerIsCheckedWholeWithItsJournalledPart() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi", format: #"{"type":"array","items":{"type":"string"}}"#)
        try relay.answer().send("[\"\"")
        for _ in 0..<40 {
            try relay.answer().send(",\"" + String(repeating: "lorem ipsum ", count: 1_000) + "\"")
            relay.clock.advance(by: .milliseconds(300))
        }
        try relay.answer().send("]")
        try relay.answer().finish()
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete && relay.model.generations.count == 1)
    }

    // MARK: - Calls of tools

    private let tools =
        #"[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}},"#
        + #"{"type":"function","function":{"name":"g","parameters":{"required":["n"]}}}]"#

    /// Answers with calls of tools, each a name with its arguments.
    private func answer(_ relay: TestRelay, _ calls: (String, String)...) throws {
        let list = calls.map { #"{"function":{"name":"\#($0)","arguments":\#($1)}}"# }.joined(separator: ",")
        let answer = try relay.answer()
        answer.sendLine(#"{"message":{"role":"assistant","content":"","tool_calls":[\#(list)]},"done":false}"#)
        answer.finish()
        relay.clock.settle()
    }

    @Test func callsOfAStrictToolAreRepairedOnce() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: tools)
        try answer(relay, ("g", #"{"n":1}"#), ("f", #"{"n":"one"}"#))
        let repair = try relay.answer(1)
        #expect(repair.prompts.count == 2 && repair.prompts[1].contains("/tool_calls/1/function/arguments/n is not"))
        #expect(repair.prompts[1].contains(#""n":"one""#))
        try answer(relay, ("f", #"{"n":1}"#))
        #expect(post.isComplete && post.reader.resets == 1)
        let provenance = try #require(relay.database.provenances.values.first)
        #expect(
            provenance.format.map { String(decoding: $0, as: UTF8.self) }
                == #"{"fits":true,"repaired":{"pointer":"/tool_calls/1/function/arguments/n","keyword":"type"}}"#)
    }

    @Test func callsThatStillDoNotFitAreAnError() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: tools)
        try answer(relay, ("f", #"{"n":"one"}"#))
        // A text that should be an object.
        try answer(relay, ("f", #""n""#))
        #expect(post.code == .model(.formViolated) && relay.model.generations.count == 2)
    }

    @Test func callsOfOtherToolsAreNotChecked() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema, tools: tools)
        // The tool promises no form, and there is no tool of the other name.
        try answer(relay, ("g", "{}"), ("h", "{}"))
        #expect(post.isComplete && relay.model.generations.count == 1)
        #expect(try #require(relay.database.provenances.values.first).format == nil)
    }

    @Test func textInPlaceOfCallsHasNoForm() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: tools)
        try relay.complete("no")
        #expect(post.isComplete && relay.model.generations.count == 1)
    }

    // MARK: - Failures

    @Test func stopDuringTheRepairKeepsTheAnswer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete("no")
        _ = relay.stop(post)
        relay.clock.settle()
        #expect(relay.database.transcript() == ["user: Hi", "assistant: no [cancelled]"])
        #expect(try relay.answer(1).isCancelled)
    }

    @Test func textOfALastLineIsShownWithItsViolation() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        for _ in 0..<2 {
            // The whole answer is in the last line, which readers get after the check only.
            try relay.answer().sendLine(#"{"message":{"role":"assistant","content":"no"},"done":true}"#)
            try relay.answer().end(nil)
            relay.clock.settle()
        }
        #expect(post.code == .model(.formViolated) && post.reader.text == "no")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: no [failed]"])
    }

    @Test func repairThatFailsIsTheFlaggedAnswer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", format: schema)
        try relay.complete("no")
        try relay.answer().fail(.rejected)
        relay.clock.settle()
        #expect(post.code == .model(.formViolated) && post.reader.text == "no")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: no [failed]"])
    }

    @Test func replyOfAProcessThatDiesDuringTheRepairIsNotComplete() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        other.startJournal()
        relay.startJournal()
        let post = relay.post("Hi", onInterrupt: .regenerate, format: schema)
        try relay.complete("no")
        relay.clock.advance(by: .seconds(1))
        let reader = try other.read(post)
        relay.database.dead.insert(1)
        other.adopt()
        // The other process asks again with the same form, and may repair once.
        #expect(try other.answer().request.passThrough.map(\.key) == ["format"])
        try other.answer().send("no")
        try other.answer().finish()
        other.clock.advance(by: .seconds(1))
        try other.answer().send(#"{"age":2}"#)
        try other.answer().finish()
        other.clock.advance(by: .seconds(1))
        #expect(reader.isDone && reader.text == #"{"age":2}"#)
        #expect(relay.database.transcript() == ["user: Hi", #"assistant: {"age":2} [complete]"#])
    }
}
