import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Answers a request on behalf of its principal. The error that it throws is the answer: `AccessControl.require` writes it.
typealias AuthorizedHandler = @Sendable (Request, Responder, Principal) async throws(RelayError) -> Void

/// Checks the credential of each request: first the form of its text, before the body arrives; then the principal, before the handler
/// runs.
struct AccessControl: Sendable {
    private let access: Configuration.Access
    private let services: ShardedServices
    private let memory: MemoryBudget
    private let shares: AppShares

    init(_ configuration: Configuration, memory: MemoryBudget, services: ShardedServices) {
        access = configuration.access
        self.services = services
        self.memory = memory
        shares = AppShares(connections: configuration.http.connections, memory: memory)
    }

    private static let beyondLink = AccessError(
        .forbidden, "A link opens only the reply or the conversation that it was made for.")

    /// The refusal of a request by its head, before its body arrives; `nil` for an acceptable one.
    ///
    /// - Parameter scope: the scope that the route needs; `nil` for a route that any request may use.
    @Sendable func check(_ head: RequestHead, for scope: Scope?) -> Refusal? {
        if access.refusesForwardedRequests, head.isForwarded { return .forwarded }
        do throws(AccessError) {
            let credential = try CredentialText(of: head)
            if credential == .none, let scope, access.mode == .keys || scope == .admin || scope == .tokens {
                throw Principal.neededCredential(for: scope)
            }
            if case .session = credential, !head.method.isSafe, !head.fields.contains(.xChatterdSession) {
                throw AccessError(
                    .forbidden, "A request with a session changes data only with the field X-Chatterd-Session: 1.")
            }
            return nil
        } catch {
            return Refusal(RelayError(error))
        }
    }

    /// The account that counts the body of a request while it arrives; `nil` if the request is for no app. Called on `shard`.
    @Sendable func bodyAccount(_ head: RequestHead, _ shard: Shard) -> MemoryAccount? {
        let authenticator = services[shard].authenticator
        switch authenticator.bodyApp(of: head) {
        case .app(let app): return shares.memory(of: app)
        case .noApp: return nil
        case .unverified:
            // The server may refuse the body before it verifies the credential. The shard knows the credential when the client retries.
            let unverified = Confined((authenticator: authenticator, head: head), to: shard)
            Task(executorPreference: shard) {
                let (authenticator, head) = unverified.value
                _ = try? await authenticator.verifiedPrincipal(of: head)
            }
            return shares.strangers
        }
    }

    /// A handler that serves only principals with a scope; `nil` for any principal.
    ///
    /// - Parameter permitsLinks: whether it serves the principals of signed links.
    func require(_ scope: Scope?, permitsLinks: Bool = false, _ handler: @escaping AuthorizedHandler) -> Handler {
        { request, responder in
            let principal: Principal
            var share: AppShares.Entry?
            do throws(RelayError) {
                let authenticator = self.services[request].authenticator
                if let known = try authenticator.knownPrincipal(of: request.head) {
                    principal = self.configured(known)
                } else {
                    principal = self.configured(try await authenticator.verifiedPrincipal(of: request.head))
                }
                if let scope { try principal.check(scope) }
                guard permitsLinks || !principal.credential.isLink else { throw RelayError(Self.beyondLink) }
                if let app = principal.owner?.app {
                    share = try self.shares.begin(for: app, isDeletion: request.method == .delete)
                }
                guard request.body.attribute(to: share?.memory) else { throw RelayError(overloading: self.memory) }
            } catch {
                responder.refuse(error)
                return
            }
            // A response that is being sent counts, and so does the work of a client that has left.
            responder.held = share
            await MemoryAccount.$current.withValue(share?.memory) {
                await RowScope.$current.withValue(principal.rowScope) {
                    do throws(RelayError) {
                        try await handler(request, responder, principal)
                    } catch {
                        responder.refuse(error)
                    }
                }
            }
            withExtendedLifetime(share) {}
        }
    }

    /// The principal, whose checks are off if the configuration of a test says so.
    private func configured(_ principal: Principal) -> Principal {
        #if DEBUG
            var principal = principal
            principal.isUnchecked = !access.hasHandlerChecks
        #endif
        return principal
    }
}

extension Principal {
    /// The rows that the statements of a request may touch.
    fileprivate var rowScope: RowScope { owner.map(RowScope.init) ?? (actsForAnyApp ? .allRows : .noRows) }
}

extension RequestHead {
    /// Whether a proxy says that it has passed the request on (RFC 7239; RFC 9110 7.6.3; nginx's documentation).
    fileprivate var isForwarded: Bool {
        fields.contains(.forwarded) || fields.contains(.xForwardedFor) || fields.contains(.xForwardedHost)
            || fields.contains(.xForwardedProto) || fields.contains(.xRealIP) || fields.contains(.via)
    }
}

extension Refusal {
    fileprivate static let forwarded = Refusal(
        .forbidden, code: "forbidden",
        message:
            "A proxy has passed this request on, so the listener on the loopback is not private. Set CHATTERD_ACCESS=keys, or "
            + "CHATTERD_ACCESS=open to serve any request without a credential.")
}
