import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdRelay
import ChatterdSockets

/// The service that knows the temperature of a place, with the API of Open-Meteo. Confined to its shard.
final class WeatherSource {
    /// The limit of the service's answer, in bytes.
    static let maximumSize = 64 << 10
    /// The limit of requests to the service at once, on a shard.
    static let maximumRequests = 16
    /// The limit of a request: name look-up, connection, TLS and answer together.
    static let timeLimit = Duration.seconds(10)

    private let url: UpstreamURL
    private let client: HTTPClient
    private let shard: Shard
    private var running = 0

    init(_ url: UpstreamURL, on shard: Shard) {
        self.url = url
        self.shard = shard
        var limits = HTTPClientLimits()
        limits.idleConnections = 1
        client = HTTPClient(shard: shard, limits: limits)
    }

    /// The temperature of a place in degrees Fahrenheit, as a number of JSON.
    ///
    /// - Throws: `overloaded`; `upstream_unavailable`, `upstream_first_byte_timeout` and `upstream_malformed` for the service.
    func temperature(latitude: Degrees, longitude: Degrees) async throws(RelayError) -> String {
        guard running < Self.maximumRequests else {
            throw RelayError(
                .overloaded, "\(Self.maximumRequests) requests for the weather are under way. Try again in a moment.")
        }
        running += 1
        defer { running -= 1 }
        let origin: Origin
        do throws(HTTPClientError) {
            origin = try Origin(parsing: url.description)
        } catch {
            throw RelayError(.internal, "The URL of the weather service cannot be used.", detail: error.message)
        }
        let path =
            "/v1/forecast?latitude=\(latitude.text)&longitude=\(longitude.text)&current=temperature_2m"
            + "&temperature_unit=fahrenheit"
        let outcome = await CollectedExchange.run(
            OutgoingRequest(.get, path, fields: [.accept: "application/json"]), to: origin, client: client, on: shard,
            upTo: Self.maximumSize, within: Self.timeLimit)
        switch outcome {
        case .success(let response):
            guard response.head.status == .ok else {
                throw Self.malformed("status \(response.head.status.code)")
            }
            return try Self.temperature(in: response.body.array)
        case .failure(.timedOut):
            throw RelayError(.model(.firstByteTimeout), "The weather service has not answered in time.")
        case .failure(.tooLarge):
            throw Self.malformed("more than \(Self.maximumSize) bytes")
        case .failure(.failed(let error)):
            throw RelayError(
                .model(.unavailable), "The weather service cannot be reached.", detail: error.message)
        }
    }

    private static func temperature(in answer: [UInt8]) throws(RelayError) -> String {
        let current = (try? JSONSlice(answer))?.last("current", .object)
        guard let number = current?.last("temperature_2m", .number)?.bytes, number.count <= Degrees.maximumLength else {
            throw malformed("no current.temperature_2m")
        }
        return String(decoding: number, as: UTF8.self)
    }

    private static func malformed(_ detail: String) -> RelayError {
        RelayError(.model(.malformed), "The answer of the weather service is not a temperature.", detail: detail)
    }
}
