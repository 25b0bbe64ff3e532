import ChatterdHTTP

/// The way to the server: the one place that differs between platforms.
package struct Transport: Sendable {
    /// The longest silence of chatterd, which sends a comment after 15 s by default.
    package static let chatterdSilence = Duration.seconds(90)

    /// Sends a request, and returns when the head of the response has arrived. Bytes of the body arrive when they are sent.
    package let send: @Sendable (ClientRequest) async throws(ChatterError) -> ClientResponse

    package init(send: @escaping @Sendable (ClientRequest) async throws(ChatterError) -> ClientResponse) {
        self.send = send
    }
}

/// The head of a response, and its body as it arrives.
package struct ClientResponse: Sendable {
    package let head: ResponseHead
    package let body: ResponseBody

    package init(head: ResponseHead, body: ResponseBody) {
        self.head = head
        self.body = body
    }
}
