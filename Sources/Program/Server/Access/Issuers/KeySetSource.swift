import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdSockets

/// The place where an issuer publishes its keys: an `https` URL, or a file.
struct KeySetSource: Sendable, Hashable {
    /// The limit of a fetch: name look-up, connection, TLS and response together.
    static let timeLimit = Duration.seconds(5)

    let keys: ExternalIssuer.Keys
    /// A PEM file of authorities for the certificate of the server, beside those of the system; `nil` for those alone.
    let authorities: String?

    init(of issuer: ExternalIssuer) {
        keys = issuer.keys
        authorities = issuer.authorities
    }

    /// Reads the keys. It reads files, so call it off the shards.
    ///
    /// - Parameters:
    ///   - shard: the one that fetches.
    ///   - limit: the limit of a fetch.
    func read(on shard: Shard, within limit: Duration = timeLimit) async -> Result<VerificationKeySet, KeySetProblem> {
        await readDated(on: shard, within: limit).map(\.keys)
    }

    /// Reads the keys, and the time of day of their server in seconds since 1970; `nil` for a file, or without a date.
    func readDated(
        on shard: Shard, within limit: Duration = timeLimit
    ) async -> Result<(keys: VerificationKeySet, date: Int64?), KeySetProblem> {
        do throws(KeySetProblem) {
            let (text, date) =
                switch keys {
                case .url(let url): try await fetch(url, on: shard, within: limit)
                case .file(let path): (try Self.readFile(path), nil)
                }
            do throws(TokenError) {
                return .success((VerificationKeySet(try JSONWebKeySet(parsing: text)), date))
            } catch {
                throw KeySetProblem(message: error.message)
            }
        } catch {
            return .failure(error)
        }
    }

    private static func readFile(_ path: String) throws(KeySetProblem) -> [UInt8] {
        switch ConfigurationFile.read(path) {
        case .success(let text): return Array(text.utf8)
        case .failure(let failure): throw KeySetProblem(message: "\(path) cannot be read: \(failure.reason)")
        }
    }

    private func fetch(
        _ url: KeySetURL, on shard: Shard, within limit: Duration
    ) async throws(KeySetProblem) -> ([UInt8], date: Int64?) {
        let (origin, tls) = try target(url)
        let path = url.target
        let outcome = await withTaskExecutorPreference(shard) { @concurrent in
            // A client of its own: a connection would be idle until the server closes it, and the authorities may have changed.
            var limits = HTTPClientLimits()
            limits.connect = limit
            limits.idleConnections = 0
            let client = HTTPClient(shard: shard, limits: limits, tls: tls)
            defer { withExtendedLifetime(client) {} }
            return await CollectedExchange.run(
                OutgoingRequest(.get, path, fields: [.accept: "application/json"]), to: origin, client: client,
                on: shard,
                upTo: JSONWebKeySet.maximumSize, within: limit)
        }
        switch outcome {
        case .success(let response):
            let status = response.head.status
            guard status == .ok else {
                throw KeySetProblem(
                    message: status.isRedirection
                        ? "\(url.address) redirects (\(status.code)): set jwks_url to the final URL"
                        : "\(url.address) answers \(status.code) in place of 200")
            }
            return (response.body.array, response.head.fields[.date].flatMap(HTTPDate.seconds).map(Int64.init))
        case .failure(.timedOut):
            throw KeySetProblem(message: "\(url.address) has not sent the keys within \(SettingText.duration(limit))")
        case .failure(.tooLarge):
            throw KeySetProblem(
                message: "the answer of \(url.address) is larger than \(JSONWebKeySet.maximumSize) bytes")
        case .failure(.failed(let error)):
            throw KeySetProblem(message: error.message)
        }
    }

    private func target(_ url: KeySetURL) throws(KeySetProblem) -> (Origin, TLSContext) {
        let origin: Origin
        do throws(HTTPClientError) {
            origin = try Origin(parsing: UpstreamURL(isSecure: true, address: url.address).description)
        } catch {
            throw KeySetProblem(message: error.message)
        }
        do throws(SocketError) {
            return (origin, try authorities == nil ? .system() : .client(authorities: authorities))
        } catch {
            throw KeySetProblem(message: "the ca_file cannot be used: \(error.message)")
        }
    }
}
