import ChatterdHTTP

extension ConnectionGroup {
    /// Decides on a request by its head, before its body arrives. It also tells the responder which origin may read the response.
    ///
    /// - Returns: the refusal of the request; `nil` for an admitted one.
    func refusal(
        of head: RequestHead, _ match: Router.Match, hasBody: Bool, isSecure: Bool, to responder: Responder
    ) -> Refusal? {
        let isPage = match.pattern.map { policy.pageRoutes.contains($0) } == true
        if match.pattern.map({ policy.openRoutes.contains($0) }) != true {
            switch policy.verdict(on: head, isSecure: isSecure, isPage: isPage) {
            case .served: break
            case .shared(let origin): responder.sharedWith = origin
            case .refused(let refusal): return refusal
            }
        }
        guard case .handler(_, let check, _, _) = match else { return nil }
        if hasBody, let refusal = BrowserPolicy.refusalOfBody(head) { return refusal }
        return check?(head)
    }
}
