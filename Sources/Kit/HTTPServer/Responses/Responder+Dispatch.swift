import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

extension Responder {
    /// The methods that a preflight of a path without a route allows.
    private static let allMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"

    /// Runs the handler of a request in a task of the shard, or answers a request without a handler.
    func dispatch(_ request: Request, to match: Router.Match, of router: Router) {
        let isPreflight =
            sharedWith != nil && request.head.method == .options && request.fields.contains(.accessControlRequestMethod)
        switch match {
        case .handler(let handler, _, _, _):
            let exchange = Confined((request: request, responder: self), to: shard)
            Task(executorPreference: shard) {
                let (request, responder) = exchange.value
                await handler(request, responder)
                responder.handlerReturned()
            }
        case .options(let allow, _):
            var fields = isPreflight ? preflightFields(methods: allow, for: request.fields) : [:]
            if let allow = FieldValue(validating: allow) { fields.set(.allow, allow) }
            respond(.noContent, fields: fields)
        case .wrongMethod(let allow, _):
            refuse(.methodNotAllowed(allow))
        case .emptySegment where isPreflight, .doubledSlash where isPreflight, .repeatedSegment where isPreflight,
            .notFound where isPreflight:
            // A page can read what is wrong with its path only if the preflight succeeds.
            respond(.noContent, fields: preflightFields(methods: Self.allMethods, for: request.fields))
        case .emptySegment:
            refuse(.emptySegment)
        case .doubledSlash:
            refuse(.doubledSlash)
        case .repeatedSegment(let segment):
            refuse(.repeatedSegment(segment))
        case .notFound:
            refuse(.notFound(suggestion: router.nearestPattern(to: request.head.target.path)))
        }
    }
}
