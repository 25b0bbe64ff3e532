import ChatterdConfiguration
import ChatterdHTTPClient
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// A model server that this process can ask: all that its description refers to has been found.
public struct PreparedUpstream: Sendable {
    public let description: UpstreamDescription
    /// Where it is; nothing for the built-in model.
    public let origin: Origin?
    public let key: ConfigurationSecret?
    /// Whom its certificate may be of; nothing for the authorities of the system.
    let authorities: TLSContext?
    let health: UpstreamHealth

    /// Finds what a description refers to.
    ///
    /// - Parameter old: what it takes the place of. How that has been doing counts on only if nothing is different: whoever
    ///   changes something has repaired it.
    /// - Throws: why this process cannot ask it, in words for the operator.
    public init(
        _ description: UpstreamDescription, keys: UpstreamKeys, replacing old: PreparedUpstream? = nil
    ) throws(UpstreamKeys.Problem) {
        self.description = description
        key = try keys.key(of: description)
        do throws(HTTPClientError) {
            origin = try description.kind == .echo ? nil : description.origin()
        } catch {
            throw UpstreamKeys.Problem(message: "its URL cannot be used: \(error.message)", reason: .url)
        }
        do throws(SocketError) {
            authorities = try description.authorities.map { path throws(SocketError) in
                try TLSContext.client(authorities: path)
            }
        } catch {
            throw UpstreamKeys.Problem(message: "its ca_file cannot be used: \(error.message)", reason: .authorities)
        }
        if let old, old.description == description, old.key == key, old.authorities === authorities {
            health = old.health
        } else {
            health = UpstreamHealth()
        }
    }

    /// Whether connections made for the one do for the other: the authorities are read anew only when something else changes.
    func isSame(as other: PreparedUpstream) -> Bool {
        description == other.description && key == other.key && authorities === other.authorities
            && health === other.health
    }
}
