import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets
import Glibc

extension Doctor {
    /// Whether the process may open as many files as its limits let it use.
    static func descriptors(_ configuration: Configuration) -> Check {
        let limit = csystem_descriptor_limit()
        // A client and its model server need one each. Idle connections, the database and the process itself need more.
        let store = configuration.store.connections * configuration.server.shards + 2
        let needed =
            configuration.http.connections
            + min(configuration.relay.maximumReplies, configuration.http.connections) + store + 100
        // With somewhat fewer the server lets connections wait; with less than half it serves far less than it is configured for.
        guard limit >= 0, limit < Int64(needed) / 2 else {
            return .fine(.openFiles, "\(limit) are allowed, \(needed) are the most that the limits let be used")
        }
        return .wrong(
            .openFiles, "only \(limit) are allowed, \(needed) may be needed",
            advice: "raise the hard limit (ulimit -Hn, LimitNOFILE=) or lower CHATTERD_MAX_CONNECTIONS")
    }

    static func listeners(_ server: Configuration.Server) -> [Check] {
        let isServed = isServed(server.listen)
        var checks = [listener(server.listen, Setting.listen, isServed: isServed)]
        if let metrics = server.metricsListen {
            checks.append(listener(metrics, Setting.metricsListen, isServed: isServed))
        }
        guard let tls = server.tls else { return checks }
        checks.append(listener(tls.listen, Setting.tlsListen, isServed: isServed))
        let problems = [(tls.certificate, Setting.tlsCertificate), (tls.key, Setting.tlsKey)].compactMap(unreadable)
        return checks + (problems.isEmpty ? [certificate(tls)] : problems)
    }

    /// The problem of a file of the certificate; `nil` for one in the form of PEM.
    private static func unreadable(_ path: String, _ setting: Setting) -> Check? {
        switch ConfigurationFile.read(path) {
        case .success(let text) where text.contains("-----BEGIN "): nil
        case .success:
            .wrong(
                .certificate, of: setting.name, "\(path) is not a PEM file",
                advice: "make a pair with script/certificate")
        case .failure(let failure):
            .wrong(
                .certificate, of: setting.name, "\(path) cannot be read: \(failure.reason)",
                advice: "let the server's user read it, or make a pair with script/certificate")
        }
    }

    /// The number of days before the end of a certificate from which on it needs to be replaced.
    private static let daysBeforeEnd: Int64 = 14

    /// Whether the certificate and the key belong together and are valid now, as clients check it.
    static func certificate(_ tls: Configuration.TLS) -> Check {
        let advice = "replace it, and send SIGHUP to a server that runs"
        do throws(SocketError) {
            let context = try TLSContext.server(certificate: tls.certificate, key: tls.key)
            let now = Int64(time(nil))
            guard let begin = context.certificateBegin, let end = context.certificateEnd else {
                return .wrong(.certificate, "its dates cannot be read", advice: advice)
            }
            let days = (end - now) / 86_400
            guard end > now else {
                return .wrong(.certificate, "it expired \(-days) days ago: no client accepts it", advice: advice)
            }
            guard begin <= now else {
                return .wrong(
                    .certificate, "it is not valid before \((begin - now) / 86_400 + 1) days have passed",
                    advice: "correct the clock of this machine, or \(advice)")
            }
            guard days > daysBeforeEnd else {
                return .doubtful(.certificate, "it expires in \(days) days", advice: advice)
            }
            return .fine(.certificate, "it belongs to the key, and expires in \(days) days")
        } catch {
            return .wrong(.certificate, "\(error)", advice: "make a pair with script/certificate")
        }
    }

    /// Whether a server answers at the address of plain HTTP. It has the other listeners too then.
    private static func isServed(_ listen: HostAndPort) -> Bool {
        guard listen.port != 0 else { return false }
        guard case .success(let answer) = CommandProbe.get("/healthz", from: CommandProbe.reachable(listen)) else {
            return false
        }
        return answer.status == 200
    }

    private static func listener(_ listen: HostAndPort, _ setting: Setting, isServed: Bool) -> Check {
        switch CommandProbe.bind(listen) {
        case .success:
            .fine(.listener, of: setting.name, "\(listen) is free")
        case .failure where isServed:
            .fine(.listener, of: setting.name, "\(listen) is taken by a server that is alive, chatterd it seems")
        case .failure(let failure):
            .wrong(
                .listener, of: setting.name, "\(listen) cannot be listened on: \(failure.message)",
                advice: "stop the process that listens there, or choose another address")
        }
    }
}
