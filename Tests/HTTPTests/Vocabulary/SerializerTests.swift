import ChatterdBasics
import ChatterdHTTP
import Testing

@Suite struct SerializerTests {
    @Test func responseHeadIsWritten() {
        let head = ResponseHead(
            status: .ok, fields: [.contentType: "text/event-stream", .contentLength: FieldValue(5)])
        var buffer = ByteBuffer()
        head.write(to: &buffer)
        #expect(buffer.string == "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 5\r\n\r\n")
    }

    @Test func unknownStatusHasAnEmptyReason() throws {
        var buffer = ByteBuffer()
        try #require(Status(299)).writeLine(to: &buffer)
        #expect(buffer.string == "HTTP/1.1 299 \r\n")
    }

    @Test func requestHeadIsReadBack() throws {
        let head = RequestHead(
            method: .post, target: try Target("/api/chat?x=1"), fields: [.host: "a:1", .transferEncoding: "chunked"])
        var buffer = ByteBuffer()
        head.write(to: &buffer)
        #expect(buffer.string == "POST /api/chat?x=1 HTTP/1.1\r\nhost: a:1\r\ntransfer-encoding: chunked\r\n\r\n")
        var parser = RequestHeadParser()
        #expect(try parser.parse(buffer.bytes) == head)
        #expect(parser.consumed == buffer.count)
    }

    @Test func responseHeadIsReadBack() throws {
        let head = ResponseHead(status: .serviceUnavailable, fields: [.retryAfter: "1", .allow: ""])
        var buffer = ByteBuffer()
        head.write(to: &buffer)
        var parser = ResponseHeadParser()
        #expect(try parser.parse(buffer.bytes) == head)
    }

    @Test func chunkGetsItsSize() {
        var buffer = ByteBuffer()
        let chunk = ChunkFraming.begin(in: &buffer)
        buffer.append([UInt8](repeating: UInt8(ascii: "x"), count: 0x1AF))
        ChunkFraming.end(chunk, in: &buffer)
        #expect(buffer.string == "0001af\r\n" + String(repeating: "x", count: 0x1AF) + "\r\n")
    }

    @Test func chunkWithoutDataIsRemoved() {
        var buffer = ByteBuffer()
        buffer.append("before")
        let chunk = ChunkFraming.begin(in: &buffer)
        ChunkFraming.end(chunk, in: &buffer)
        #expect(buffer.string == "before")
        ChunkFraming.appendLast(to: &buffer)
        #expect(buffer.string == "before0\r\n\r\n")
    }
}
