#if canImport(Darwin)
    import ChatterdHTTP
    import Foundation

    extension Transport {
        /// Each answer and each feed keeps a connection for as long as it runs. The system's limit of six would let the seventh wait, and
        /// a `stop` with it.
        private static let connectionLimit = 256

        /// A transport over URLSession, with the certificates of the system.
        ///
        /// - Throws: `invalidURL`.
        package static func system(
            to address: String, silence: Duration = chatterdSilence
        ) throws(ChatterError) -> Transport {
            guard let url = URL(string: address), let scheme = url.scheme?.lowercased(),
                scheme == "http" || scheme == "https", url.host() != nil, url.user() == nil, url.query() == nil,
                url.fragment() == nil
            else { throw .invalidURL("The address must begin with http:// or https://, and end with the path.") }
            let base = address.hasSuffix("/") ? String(address.dropLast()) : address
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = TimeInterval(silence.components.seconds)
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
            configuration.httpMaximumConnectionsPerHost = connectionLimit
            let session = URLSession(configuration: configuration)
            return Transport { request throws(ChatterError) in
                guard let url = URL(string: base + request.path) else {
                    throw .malformed("The path of the request is not a URL.")
                }
                return try await send(request, to: url, session)
            }
        }

        private static func send(
            _ request: ClientRequest, to url: URL, _ session: URLSession
        ) async throws(ChatterError) -> ClientResponse {
            var outgoing = URLRequest(url: url)
            outgoing.httpMethod = request.method.description
            outgoing.httpBody = request.body.isEmpty ? nil : Data(request.body)
            for field in request.fields {
                outgoing.addValue(field.value, forHTTPHeaderField: field.name.text)
            }
            do {
                let (bytes, response) = try await session.bytes(for: outgoing, delegate: RedirectRefusal())
                guard let response = response as? HTTPURLResponse, let status = Status(response.statusCode) else {
                    throw ChatterError.malformed("The response is not of HTTP.")
                }
                var fields = Fields()
                for case (let name as String, let value as String) in response.allHeaderFields {
                    if let name = FieldName(name), let value = FieldValue(validating: value) {
                        fields.add(name, value)
                    }
                }
                let reader = LineReader(bytes)
                let task = bytes.task
                let body = ResponseBody(
                    read: { () throws(ChatterError) in try await reader.next() }, close: { task.cancel() })
                return ClientResponse(head: ResponseHead(status: status, fields: fields), body: body)
            } catch {
                throw ChatterError(system: error)
            }
        }
    }

    /// Reads a body in pieces that end at line ends, as events do, so that no event waits for the next one.
    private actor LineReader {
        private static let longestPiece = 16 << 10
        private var iterator: URLSession.AsyncBytes.AsyncIterator

        init(_ bytes: URLSession.AsyncBytes) {
            iterator = bytes.makeAsyncIterator()
        }

        func next() async throws(ChatterError) -> [UInt8]? {
            var piece: [UInt8] = []
            // A local copy, because an actor's property cannot be changed across a suspension. There is one reader.
            var iterator = iterator
            defer { self.iterator = iterator }
            do {
                while piece.count < Self.longestPiece, let byte = try await iterator.next() {
                    piece.append(byte)
                    if byte == UInt8(ascii: "\n") { break }
                }
            } catch {
                throw ChatterError(system: error)
            }
            return piece.isEmpty ? nil : piece
        }
    }

    /// A redirection is an answer like any other: credentials go to the given server only.
    private final class RedirectRefusal: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? { nil }
    }

    extension ChatterError {
        fileprivate init(system error: any Error) {
            switch error {
            case let error as ChatterError: self = error
            case is CancellationError: self = .cancelled
            case let error as URLError:
                switch error.code {
                case .cancelled: self = .cancelled
                case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
                    .dataNotAllowed, .internationalRoamingOff, .appTransportSecurityRequiresSecureConnection:
                    self = .unreachable(error.localizedDescription)
                case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
                    .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
                    self = .untrusted(error.localizedDescription)
                case .badURL, .unsupportedURL: self = .invalidURL(error.localizedDescription)
                case .badServerResponse, .cannotParseResponse: self = .malformed(error.localizedDescription)
                default: self = .connectionLost(error.localizedDescription)
                }
            default: self = .connectionLost(error.localizedDescription)
            }
        }
    }
#endif
