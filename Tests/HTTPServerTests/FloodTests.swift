import ChatterdHTTPServer
import ChatterdTestSupport
import Foundation
import Testing

/// Clients that send without end.
struct FloodTests {
    /// The bytes of one connection that the server and both systems may buffer; the systems have the larger part.
    private static let bound = 64 * 1024 * 1024

    @Test(
        .timeLimit(.minutes(30)),
        arguments: ["GET /nowhere", "OPTIONS /echo", "PUT /echo"])
    func clientThatReadsNoResponsesIsPaused(request: String) async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port, receiveBuffer: 4096)
            // Some hundred bytes a request: as much input as output, so that the test ends soon.
            let unit = Array(
                "\(request) HTTP/1.1\r\nHost: a\r\nPadding: \(String(repeating: "x", count: 400))\r\n\r\n".utf8)
            let sent = try client.connection.flood(with: unit, upTo: Self.bound) {
                let exchange = try RawClient.get(port: test.port, "/")
                #expect(exchange.text == "hello")
            }
            #expect(sent < Self.bound)

            // No request is lost: a client that reads again gets a response to each one.
            client.halfClose()
            let (bytes, end) = client.readToEnd()
            #expect(end == .cut)
            let responses = String(decoding: bytes, as: UTF8.self).components(separatedBy: "HTTP/1.1 ").dropFirst()
            let isWhole = sent % unit.count == 0
            #expect(responses.count == sent / unit.count + (isWhole ? 0 : 1))
            #expect(isWhole || responses.last?.hasPrefix("400 ") == true)
        }
    }
}
