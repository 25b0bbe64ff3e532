/// Client tokens for a device, which cannot keep a key. A new token is fetched before the last one expires, and when the server refuses
/// it. All requests of the clients that share a source wait for one fetch.
///
///     let tokens = TokenSource { try await myServer.fetchToken() }
///     let client = try ChatterClient(url: url, credential: .tokens(tokens))
public actor TokenSource {
    /// Fetches a token from the app's own server, which has the key. An error other than `ChatterError` counts as a lost connection.
    public typealias Fetch = @Sendable () async throws -> ClientToken

    /// A token with the time until which it is used.
    private struct Held {
        let text: String
        let renewAt: ContinuousClock.Instant
        let expiresAt: ContinuousClock.Instant
    }

    private let fetch: Fetch
    private let margin: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private var held: Held?
    private var renewal: Task<Result<Held, ChatterError>, Never>?

    /// Creates a source without a token.
    ///
    /// - Parameters:
    ///   - margin: how long before its end a token is renewed; of a token that lives shorter than twice that, half its lifetime.
    ///   - fetch: fetches a token from the app's own server.
    public init(margin: Duration = .seconds(60), fetch: @escaping Fetch) {
        self.init(margin: margin, now: { .now }, fetch: fetch)
    }

    init(margin: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant, fetch: @escaping Fetch) {
        self.margin = margin
        self.now = now
        self.fetch = fetch
    }

    /// A token that is valid now.
    ///
    /// - Parameter refused: a token that the server has refused, which is not used again.
    func token(insteadOf refused: String? = nil) async throws(ChatterError) -> String {
        if let held, held.text != refused {
            if now() < held.renewAt { return held.text }
            // While the app's server is away, the present token serves to its end.
            let result = await renew()
            if case .failure = result, now() < held.expiresAt { return held.text }
            return try result.get().text
        }
        return try await renew().get().text
    }

    /// Fetches a token, or joins the fetch that is under way. It continues when a request that waits for it is cancelled.
    private func renew() async -> Result<Held, ChatterError> {
        if let renewal { return await renewal.value }
        let task = Task { [fetch, margin, now] () -> Result<Held, ChatterError> in
            do {
                let token = try await fetch()
                let lifetime = Duration.seconds(token.expiresIn)
                let start = now()
                return .success(
                    Held(
                        text: token.text, renewAt: start.advanced(by: max(lifetime - margin, lifetime / 2)),
                        expiresAt: start.advanced(by: lifetime)))
            } catch let error as ChatterError {
                return .failure(error)
            } catch {
                return .failure(.unreachable("A new token could not be fetched: \(error)"))
            }
        }
        renewal = task
        let result = await task.value
        if renewal == task {
            renewal = nil
            if case .success(let new) = result { held = new }
        }
        return result
    }
}

extension TokenSource: Hashable {
    /// Two sources are equal if they are the same object.
    public static func == (left: TokenSource, right: TokenSource) -> Bool { left === right }

    public nonisolated func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
