import ChatterdBasics
import ChatterdLanguageModels
import ChatterdModelServers
import Testing

@Suite(.timeLimit(.minutes(30))) struct OllamaChatRequestTests {
    @Test func aConversationBecomesOneBody() {
        var request = OllamaChatRequest(model: "m:latest")
        let role = Array("user".utf8)
        let content = Array("a\"b\n".utf8)
        let extras = Array(#""images":["aGk="]"#.utf8)
        request.append(ModelMessage(role: "system", content: "Be brief."))
        request.append(role: role.span, content: content.span, extras: extras.span)
        let body = request.finish(
            stream: true, passThrough: [RawMember(key: "options", value: Array(#"{"seed": 1}"#.utf8))])
        #expect(
            body.string
                == #"{"model":"m:latest","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a\"b\n","images":["aGk="]}],"stream":true,"options":{"seed": 1}}"#
        )
    }

    @Test func messagesEncodedBeforeAreCopied() {
        var history = ByteBuffer()
        history.append(ModelMessage(role: "user", content: "1"))
        history.append(UInt8(ascii: ","))
        history.append(ModelMessage(role: "assistant", content: "2", extras: #""thinking":"3""#))
        var request = OllamaChatRequest(model: "m")
        request.append(encodedMessages: ByteBuffer().bytes)
        request.append(encodedMessages: history.bytes)
        request.append(ModelMessage(role: "user", content: "4"))
        #expect(
            request.finish(stream: false).string
                == #"{"model":"m","messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2","thinking":"3"},{"role":"user","content":"4"}],"stream":false}"#
        )
    }

    @Test func noMessageAtAllIsABodyToo() {
        #expect(
            OllamaChatRequest(model: "m").finish(stream: true).string == #"{"model":"m","messages":[],"stream":true}"#)
    }
}
