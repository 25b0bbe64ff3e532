import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdSockets
import Glibc

extension Configuration {
    /// The listeners and the process.
    public struct Server: Sendable, Equatable {
        /// The address of plain HTTP.
        public var listen = HostAndPort(host: "127.0.0.1", port: 8080)
        /// The address of HTTPS.
        public var tlsListen: HostAndPort?
        /// The path of the certificate chain, PEM.
        public var tlsCertificate: String?
        /// The path of the certificate's private key, PEM.
        public var tlsKey: String?
        /// The address of metrics; `nil` for none.
        public var metricsListen: HostAndPort?
        /// The accepted host names, and the web pages that may use the server.
        public var browsers = BrowserPolicy(hosts: [], origins: [])
        /// The app of the conversations of the web page in `open` mode.
        public private(set) var pageApp = "web"
        /// The service that `/weather` asks.
        public var weather = UpstreamURL(
            isSecure: true, address: HostAndPort(host: "api.open-meteo.com", port: 443))
        /// The number of event loops.
        public var shards = max(1, min(256, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        /// The memory budget of the process, in bytes; `nil` for half of the available memory.
        public var memory: Int?
        /// Time after SIGTERM in which `/readyz` says 503 and the server still accepts requests.
        public var shutdownDelay = Duration.zero
        /// Time for which running replies may continue after SIGTERM.
        public var shutdownLimit = Duration.seconds(25)

        /// HTTPS; `nil` unless its three settings are given.
        public var tls: TLS? {
            guard let tlsListen, let tlsCertificate, let tlsKey else { return nil }
            return TLS(listen: tlsListen, certificate: tlsCertificate, key: tlsKey)
        }
    }

    /// HTTPS.
    public struct TLS: Sendable, Equatable {
        /// The address.
        public let listen: HostAndPort
        /// The path of the certificate chain, PEM.
        public let certificate: String
        /// The path of its private key, PEM.
        public let key: String
    }
}

extension Configuration.Server {
    mutating func setHosts(_ names: [String]) throws(SettingProblem) {
        guard !names.contains("*") else {
            browsers.hosts = nil
            return
        }
        let wrong = names.filter { HostName($0) == nil }
        guard wrong.isEmpty else {
            throw SettingProblem(
                wrong.map {
                    "\"\(SettingText.excerpt($0))\" is not a name such as chat.example, without scheme, port and path"
                })
        }
        browsers.hosts = Set(names.compactMap { HostName($0) })
    }

    mutating func setPageApp(_ name: String) throws(SettingProblem) {
        guard Owner(validating: name) != nil else {
            throw SettingProblem(
                "must be the name of an app: 1 to \(Owner.maximumAppLength) characters, without control characters")
        }
        pageApp = name
    }

    mutating func setOrigins(_ texts: [String]) throws(SettingProblem) {
        let wrong = texts.filter { WebOrigin(parsing: $0) == nil }
        guard wrong.isEmpty else {
            throw SettingProblem(
                wrong.map {
                    "\"\(SettingText.excerpt($0))\" is not an origin such as https://app.example or "
                        + "http://localhost:3000, without a path; each is listed by itself"
                })
        }
        browsers.origins = Set(texts.compactMap { WebOrigin(parsing: $0) })
    }
}
