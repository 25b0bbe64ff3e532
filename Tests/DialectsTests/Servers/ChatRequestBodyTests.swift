import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdTestSupport
import Testing

@testable import ChatterdDialects

@Suite(.timeLimit(.minutes(30))) struct ChatRequestBodyTests {
    @Test func conversationBecomesOneBody() {
        var request = ChatRequestBody(model: "m:latest")
        let role = Array("user".utf8)
        let content = Array("a\"b\n".utf8)
        let extras = Array(#""images":["aGk="]"#.utf8)
        request.appendMessage { $0.append(ModelMessage(role: "system", content: "Be brief.")) }
        request.append(role: role.span, content: content.span, extras: extras.span)
        let body = request.finish(
            stream: true, passThrough: [RawMember(key: "options", value: Array(#"{"seed": 1}"#.utf8))])
        #expect(
            body.string
                == #"{"model":"m:latest","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a\"b\n","images":["aGk="]}],"stream":true,"options":{"seed": 1}}"#
        )
    }

    @Test func conversationIsShared() {
        var history = EncodedConversation()
        history.append(ModelMessage(role: "user", content: "1"))
        history.append(ModelMessage(role: "assistant", content: "2", extras: #""thinking":"3""#))
        var request = ChatRequestBody(model: "m")
        request.append(sharing: EncodedConversation())
        request.append(sharing: history)
        request.appendMessage { $0.append(ModelMessage(role: "user", content: "4")) }
        let body = request.finish(stream: false)
        #expect(
            body.string
                == #"{"model":"m","messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2","thinking":"3"},{"role":"user","content":"4"}],"stream":false}"#
        )
        #expect(body.parts.count == 3 && body.count == body.string.utf8.count)
    }

    @Test func bodyMayHaveNoMessages() {
        #expect(
            ChatRequestBody(model: "m").finish(stream: true).string == #"{"model":"m","messages":[],"stream":true}"#)
    }

    @Test(arguments: 1...10)
    func decodedRequestIsUnchangedOnItsWayToTheModel(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let messages = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                ModelMessage(role: "assistant", content: random.text(upTo: 30))
            }
            let passThrough = [
                RawMember(key: "options", value: Array(random.json(depth: 2).utf8)),
                RawMember(key: "appID", value: Array("\"a\"".utf8)),
            ]
            var writer = ChatRequestBody(model: "m")
            for message in messages { writer.appendMessage { $0.append(message) } }
            let body = writer.finish(stream: false, passThrough: passThrough)
            let request = try ChatRequest(decoding: body.joined.bytes)
            #expect(request.messages == messages)
            #expect(request.stream == false)
            #expect(request.passThrough == passThrough.filter { $0.key == "options" && $0.value != Array("null".utf8) })
        }
    }
}
