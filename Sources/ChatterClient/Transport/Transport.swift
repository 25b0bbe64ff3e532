/// The way to the server: the one place that differs between platforms.
struct Transport: Sendable {
    /// Sends a request, and returns when the head of the response has arrived. Bytes of the body arrive when they are sent.
    let send: @Sendable (ClientRequest) async throws(ChatterError) -> ClientResponse
}
