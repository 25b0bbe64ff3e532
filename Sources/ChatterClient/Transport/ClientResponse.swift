import ChatterdHTTP

/// The head of a response, and its body as it arrives.
struct ClientResponse: Sendable {
    let head: ResponseHead
    let body: ResponseBody
}
