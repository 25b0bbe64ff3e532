import ChatterdChat
import ChatterdConfiguration
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets

/// A model server that this process can ask: its description with the key, the address and the authorities that it refers to.
public struct ResolvedUpstream: Sendable {
    public let description: UpstreamDescription
    /// The address; `nil` for the built-in model.
    public let origin: Origin?
    public let key: ConfigurationSecret?
    /// The authorities of its certificate; `nil` for those of the system.
    let authorities: TLSContext?
    let health: UpstreamHealth

    /// Resolves the references of a description. Reads files.
    ///
    /// - Parameter old: the former state of the same server. If all values are equal, the new one keeps the health of the old one.
    ///   After a change the health begins as unknown.
    /// - Throws: the reason why this process cannot ask the server, for the operator.
    public init(
        _ description: UpstreamDescription, keys: UpstreamKeys, replacing old: ResolvedUpstream? = nil
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

    /// Whether connections to `other` can be used for this server too. Authorities that were read again are different.
    func isSame(as other: ResolvedUpstream) -> Bool {
        description == other.description && key == other.key && authorities === other.authorities
            && health === other.health
    }
}

extension [ResolvedUpstream] {
    /// The numbers of slots, by the names of the servers that have slots.
    var slots: [String: Int] {
        let slots = compactMap { upstream in upstream.description.slots.map { (upstream.description.name, $0) } }
        return Dictionary(slots) { first, _ in first }
    }
}
