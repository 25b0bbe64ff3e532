import ChatterdHTTP
import Testing

@Suite struct RequestHeadParserTests {
    @Test func headEndsWhereTheBodyBegins() throws {
        let bytes = latin1(post("Content-Length: 5", "hello"))
        var parser = RequestHeadParser()
        let head = try #require(try parser.parse(bytes.span))
        #expect(parser.consumed == bytes.count - 5)
        #expect(try BodyFraming.ofRequest(head) == .length(5))
    }

    @Test func leadingEmptyLineIsPartOfTheHead() throws {
        let bytes = latin1("\r\n" + target("/"))
        var parser = RequestHeadParser()
        #expect(try parser.parse(bytes.span) != nil)
        #expect(parser.consumed == bytes.count)
    }

    @Test func limitsMayBeAsHighAsNumbersGo() throws {
        var limits = HeadLimits()
        limits.startLine = .max
        limits.fieldLine = .max
        limits.total = .max
        limits.fields = .max
        let bytes = latin1(get("X: " + String(repeating: "x", count: 100_000)))
        var parser = RequestHeadParser(limits: limits)
        #expect(try parser.parse(bytes.span)?.fields.count == 2)
    }

    @Test func hostOfTheTargetPrecedesTheField() throws {
        let bytes = latin1(target("http://b:1/"))
        var parser = RequestHeadParser()
        let head = try #require(try parser.parse(bytes.span))
        #expect(head.host == "b:1")
        #expect(head.fields[.host] == "a")
    }
}
