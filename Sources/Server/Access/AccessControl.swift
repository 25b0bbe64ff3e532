import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// Answers a request on behalf of its principal.
typealias AuthorizedHandler = @Sendable (Request, Responder, Principal) async -> Void

/// Checks the credential of each request: first the form of its text, before the body arrives; then the principal, before the handler
/// runs.
struct AccessControl: Sendable {
    private let access: Configuration.Access
    private let services: ShardedServices

    init(_ configuration: Configuration, services: ShardedServices) {
        access = configuration.access
        self.services = services
    }

    /// The refusal of a request by its head, before its body arrives; `nil` for an acceptable one.
    @Sendable func check(_ head: RequestHead, for scope: Scope) -> Refusal? {
        if access.refusesForwardedRequests, head.isForwarded { return .forwarded }
        do throws(AccessError) {
            if try CredentialText(of: head) == .none, access.mode == .keys || scope == .admin || scope == .tokens {
                throw Principal.neededCredential(for: scope)
            }
            return nil
        } catch {
            return Refusal(RelayError(error))
        }
    }

    /// A handler that serves only principals with a scope.
    func require(_ scope: Scope, _ handler: @escaping AuthorizedHandler) -> Handler {
        { request, responder in
            let principal: Principal
            do throws(RelayError) {
                principal = try await services[request].authenticator.principal(of: request.head)
                try principal.check(scope)
            } catch {
                responder.refuse(error)
                return
            }
            await handler(request, responder, principal)
        }
    }
}

extension RequestHead {
    /// Whether a proxy has passed the request on (RFC 7239).
    fileprivate var isForwarded: Bool {
        fields.contains(.forwarded) || fields.contains(.xForwardedFor) || fields.contains(.xForwardedHost)
            || fields.contains(.xForwardedProto)
    }
}

extension Refusal {
    fileprivate static let forwarded = Refusal(
        .forbidden, code: "forbidden",
        message:
            "A proxy has passed this request on, so the listener on the loopback is not private. Set CHATTERD_ACCESS=keys, or "
            + "CHATTERD_ACCESS=open to serve any request without a credential.")
}
