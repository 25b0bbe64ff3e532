import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct JSONWriterTests {
    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(body)
        return buffer.string
    }

    @Test func commasSeparateMembersAndElements() {
        let json = text { json in
            json.object { json in
                json.member("text", "a \"b\"")
                json.member("count", -3)
                json.member("isOpen", false)
                json.member("raw", raw: [UInt8]("[1, 2]".utf8).span)
                json.object("empty") { _ in }
                json.array("list") { json in
                    json.string("x")
                    json.number(1)
                    json.boolean(true)
                    json.null()
                    json.array { $0.number(2) }
                    json.object { $0.member("a", 1) }
                    json.array { _ in }
                }
                json.name("last")
                json.raw { $0.append("1.5") }
            }
        }
        #expect(
            json == #"{"text":"a \"b\"","count":-3,"isOpen":false,"raw":[1, 2],"empty":{},"#
                + #""list":["x",1,true,null,[2],{"a":1},[]],"last":1.5}"#)
    }

    @Test func absentValueWritesNoMember() {
        let json = text { json in
            json.object { json in
                json.member("a", String?.none)
                json.member("b", 1)
                json.member("c", Int?.none)
                json.member("d", Bool?.none)
                json.member("e", "f")
            }
        }
        #expect(json == #"{"b":1,"e":"f"}"#)
    }

    @Test func valueIsAppendedToTheContentOfTheBuffer() {
        var buffer = ByteBuffer()
        buffer.append("data: ")
        buffer.appendJSON { $0.array { $0.string("é\n".utf8.span) } }
        buffer.append("\n")
        buffer.appendJSON { $0.null() }
        #expect(buffer.string == "data: [\"é\\n\"]\nnull")
    }

    @Test func errorKeepsTheWrittenBytes() {
        struct Failure: Error {}
        var buffer = ByteBuffer()
        buffer.append("x")
        #expect(throws: Failure.self) {
            try buffer.appendJSON { json throws(Failure) in
                try json.array { json throws(Failure) in
                    json.number(1)
                    throw Failure()
                }
            }
        }
        #expect(buffer.string == "x[1")
    }
}
