import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

extension Responder {
    /// Runs the handler of a request in a task of the shard, or answers a request without a handler.
    func dispatch(_ request: Request, to match: Router.Match, of router: Router) {
        switch match {
        case .handler(let handler, _, _, _):
            let exchange = Confined((request: request, responder: self), to: shard)
            Task(executorPreference: shard) {
                let (request, responder) = exchange.value
                await handler(request, responder)
                responder.handlerReturned()
            }
        case .options(let allow, _):
            let isPreflight = sharedWith != nil && request.fields.contains(.accessControlRequestMethod)
            var fields = isPreflight ? preflightFields(methods: allow) : [:]
            if let allow = FieldValue(validating: allow) { fields.set(.allow, allow) }
            respond(.noContent, fields: fields)
        case .wrongMethod(let allow, _):
            refuse(.methodNotAllowed(allow))
        case .emptySegment:
            refuse(.emptySegment)
        case .doubledSlash:
            refuse(.doubledSlash)
        case .notFound:
            refuse(.notFound(suggestion: router.nearestPattern(to: request.head.target.path)))
        }
    }
}
