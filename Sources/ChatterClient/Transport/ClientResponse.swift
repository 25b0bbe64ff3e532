import ChatterdHTTP

/// The head of a response, and its body as it arrives.
package struct ClientResponse: Sendable {
    package let head: ResponseHead
    package let body: ResponseBody

    package init(head: ResponseHead, body: ResponseBody) {
        self.head = head
        self.body = body
    }
}
