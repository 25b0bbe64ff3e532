import ChatterdHTTP

extension ChatterClient {
    /// Makes a client token, for the server of an app. It needs a key with the scope `tokens`.
    public func makeToken(_ properties: TokenProperties = TokenProperties()) async throws(ChatterError) -> ClientToken {
        try await result(of: .post, "/tokens", properties)
    }
}
