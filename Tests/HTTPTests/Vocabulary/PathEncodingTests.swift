import ChatterdHTTP
import Testing

@Suite struct PathEncodingTests {
    @Test(arguments: ["a", "a/b", "100%", "é\u{1f600}", "a b+c?d#e", "%2F", "~._-", "\"'\\<>"])
    func segmentIsReadAsItWasWritten(text: String) throws {
        let target = try Target("/conversations/" + PathEncoding.segment(text))
        #expect(target.segment(2) == text)
    }

    @Test(arguments: [".", "..", "...", "a", "é", ".a"]) func nameOfDotsIsNoDotSegment(name: String) throws {
        let target = try Target("/conversations/" + PathEncoding.name(name))
        #expect(PathEncoding.name(ofSegment: try #require(target.segment(2))) == name)
        #expect(PathEncoding.name(name) == (name == "." || name == ".." ? "%C2%80" + name : PathEncoding.segment(name)))
    }

    @Test(arguments: ["\u{80}", "\u{80}a", "\u{80}..."]) func otherSegmentWithTheMarkStaysAsItIs(segment: String) {
        #expect(PathEncoding.name(ofSegment: segment) == segment)
    }
}
