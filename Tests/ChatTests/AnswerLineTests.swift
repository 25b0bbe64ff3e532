import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct AnswerLineTests {
    @Test(arguments: answerLineSamples)
    func linesOfRealServersAreRead(_ sample: AnswerLineSample) throws {
        let bytes = Array(sample.line.utf8)
        let line = try AnswerLine(bytes.span)
        #expect(bytes.summary(of: line) == sample.summary)
        #expect(line.object == 0..<bytes.count)
        #expect(!line.needsRepair)
    }

    @Test(arguments: answerLineSamples)
    func partOfALineIsRejected(_ sample: AnswerLineSample) {
        let bytes = Array(sample.line.utf8)
        for end in 0..<bytes.count {
            #expect(bytes[..<end].asLine == nil)
        }
    }

    @Test func whiteSpaceAroundTheObjectIsSkipped() throws {
        let bytes = Array("  {\"done\":true} \t".utf8)
        let line = try AnswerLine(bytes.span)
        #expect(line.object == 2..<15)
        #expect(line.isDone)
        #expect(!line.needsRepair)
    }

    @Test(arguments: [
        "", " ", "[]", "1", "null", "\"done\"", "{\"done\":true}{}", "{\"done\":tru}", "data: {}", "<html>", "{]",
    ])
    func textThatIsNoObjectIsRejected(_ text: String) {
        #expect(Array(text.utf8)[...].asLine == nil)
    }

    @Test func keysMayComeInAnyOrderAndTheLastOneCounts() throws {
        let bytes = Array(
            #"{"done":false,"eval_count":1,"message":{"content":"a","thinking":"t","role":"x"},"eval_count":2,"message":{"content":"b"},"created_at":"c","done":true,"model":"m"}"#
                .utf8)
        let line = try AnswerLine(bytes.span)
        #expect(bytes.summary(of: line) == LineSummary(content: "b", isDone: true, answerTokens: 2, missing: [.role]))
    }

    @Test(arguments: PeerNumber.all)
    func countOutOfBoundsIsNotGiven(_ number: PeerNumber) throws {
        let bytes = Array(#"{"prompt_eval_count":\#(number.text),"eval_count":\#(number.text),"done":true}"#.utf8)
        let line = try AnswerLine(bytes.span)
        #expect(line.promptTokens == number.count && line.answerTokens == number.count && line.isDone)
    }

    @Test func keysMayBeEscaped() throws {
        let bytes = Array(#"{"\u006dessage":{"conten\u0074":"a"},"d\u006fne":true}"#.utf8)
        let line = try AnswerLine(bytes.span)
        #expect(bytes.summary(of: line).content == "a")
        #expect(line.isDone)
    }

    @Test(arguments: [
        (#"{"error":"boom"}"#, "boom"), (#"{"error":"a \"b\"\n"}"#, "a \"b\"\n"),
        (#"{"error":{"message":"boom","code":400}}"#, "boom"),
        (#"{"error":{"code":400}}"#, #"{"code":400}"#), (#"{"error":["a"]}"#, #"["a"]"#), (#"{"error":7}"#, "7"),
        (#"{"error":true}"#, "true"), (#"{"StatusCode":500,"Status":"x","error":"boom"}"#, "boom"),
        (#"{"model":"m","message":{"role":"assistant","content":"x"},"done":false,"error":"late"}"#, "late"),
        (#"{"error":"","done":true}"#, nil), (#"{"error":null}"#, nil), (#"{"error":false}"#, nil),
        (#"{"error":{}}"#, nil),
        (#"{"error":"a","error":null}"#, nil), (#"{"message":{"error":"x"}}"#, nil),
    ])
    func errorIsFoundInAnyShape(_ text: String, _ expected: String?) throws {
        let bytes = Array(text.utf8)
        let line = try AnswerLine(bytes.span)
        let found = line.error?.text(in: bytes.span)
        #expect(found == expected)
    }

    @Test(
        arguments: [
            ("{}", AnswerLineMembers.all), (#"{"model":1,"created_at":null,"message":[]}"#, .all),
            (#"{"model":"m","created_at":"c","message":{}}"#, [.role, .content]),
            (#"{"model":"m","created_at":"c","message":{"role":"assistant","content":null}}"#, []),
            (#"{"model":"m","created_at":"c","message":{"role":null,"content":7}}"#, [.role, .content]),
            (#"{"model":"m","created_at":"c"}"#, [.message, .role, .content]),
            (#"{"created_at":"c","message":{"role":"assistant","content":""}}"#, [.model]),
            (#"{"model":"m","message":{"role":"assistant","content":""}}"#, [.createdAt]),
        ] as [(String, AnswerLineMembers)])
    func missingMembersForOldClientsAreFound(_ text: String, _ expected: AnswerLineMembers) throws {
        let bytes = Array(text.utf8)
        let line = try AnswerLine(bytes.span)
        #expect(line.missing == expected)

        var buffer = ByteBuffer()
        buffer.append(completing: line, in: bytes.span, model: "my \"model\"", createdAt: 0)
        let completed = buffer.array
        let again = try AnswerLine(completed.span)
        #expect(again.missing == [])
        #expect(completed.summary(of: again).content == bytes.summary(of: line).content || expected.contains(.content))
        if expected.isEmpty { #expect(completed == bytes) }
    }

    @Test(arguments: [
        (
            #"{ }"#,
            #"{ "model":"m","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":""}}"#
        ),
        (
            #" {"message":{"content":"a" } , "done":true} "#,
            #"{"message":{"content":"a" ,"role":"assistant"} , "done":true,"model":"m","created_at":"1970-01-01T00:00:00.000000Z"}"#
        ),
    ])
    func missingMembersAreAddedAtTheEnd(_ text: String, _ expected: String) throws {
        let bytes = Array(text.utf8)
        var buffer = ByteBuffer()
        buffer.append(completing: try AnswerLine(bytes.span), in: bytes.span, model: "m", createdAt: 0)
        #expect(buffer.string == expected)
    }

    @Test(arguments: [
        (#"{"message":{"tool_calls":[]}}"#, nil), (#"{"message":{"tool_calls":null}}"#, nil),
        (#"{"message":{"tool_calls":{}}}"#, nil), (#"{"message":{"tool_calls":[{"a":[1]}]}}"#, #"[{"a":[1]}]"#),
    ])
    func emptyArrayIsNoToolCalls(_ text: String, _ expected: String?) throws {
        let bytes = Array(text.utf8)
        #expect(bytes.summary(of: try AnswerLine(bytes.span)).toolCalls == expected)
    }

    @Test(arguments: [
        (#"{"a":"x"}"#, false), (#"{"a":"\u0000"}"#, true), (#"{"\u0000":1}"#, true), (#"{"a":"\ud800"}"#, true),
        (#"{"a":"\ud83d\ude00é"}"#, false), (#"{"a":"\\u0000"}"#, false), ("{\"a\":\r1}", true), ("{\"a\":\n1}", true),
        ("{\"a\":\t1}", false), ("{\"a\":1}\r", true), ("\n{\"a\":1}", true), (#"{"a":"\r\n"}"#, false),
    ])
    func lineThatNeedsRepairIsDetected(_ text: String, _ expected: Bool) throws {
        let bytes = Array(text.utf8)
        #expect(try AnswerLine(bytes.span).needsRepair == expected)
    }

    @Test func invalidUTF8IsDetected() throws {
        let bytes = Array("{\"a\":\"".utf8) + [0xE2, 0x82] + Array("\"}".utf8)
        #expect(try AnswerLine(bytes.span).needsRepair)
    }
}
