import ChatterdHTTP

extension ChatterClient {
    /// The newest postings on the chat board, oldest first.
    public func boardMessages() async throws(ChatterError) -> [BoardMessage] {
        try await result(of: ClientRequest(.get, "/getchatts"))
    }

    /// Posts on the chat board, which all clients of the app read.
    public func post(_ text: String, as name: String) async throws(ChatterError) {
        let _: Empty = try await result(of: .post, "/postchatt", ["name": name, "message": text])
    }
}
