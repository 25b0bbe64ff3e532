import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// What the model servers of a shard say of their models; asked for at most every five seconds. Confined to its shard.
public final class ModelSurvey: @unchecked Sendable {
    /// What came of asking one model server.
    public struct Listing: Sendable {
        let upstream: Upstream
        /// The models that it says it has, or why it did not say.
        public let models: Result<[ModelDescription], ModelError>
    }

    private static let lifetime = Duration.seconds(5)

    private let shard: Shard
    private let estimates: TokenEstimates
    private var listings: [Listing]?
    private var expires = Instant.distantPast
    /// Counts what made all that was known before void.
    private var generation = 0
    private var isAsking = false
    private var waiting: [CheckedContinuation<[Listing], Never>] = []

    /// - Parameter estimates: learn how much the models take.
    init(on shard: Shard, estimates: TokenEstimates) {
        self.shard = shard
        self.estimates = estimates
    }

    /// Forgets what was said: there are other model servers.
    func forget() {
        listings = nil
        generation += 1
    }

    /// What model servers say, in their order; whoever asks while they are being asked gets the same.
    func listings(of directory: UpstreamDirectory) async -> [Listing] {
        if let listings, shard.now < expires {
            return listings
        }
        return await withCheckedContinuation { answer in
            waiting.append(answer)
            ask(directory)
        }
    }

    private func ask(_ directory: UpstreamDirectory) {
        guard !isAsking else { return }
        isAsking = true
        let asked = generation
        Task(executorPreference: shard) { [self] in
            let found = await Self.ask(directory.upstreams)
            isAsking = false
            guard asked == generation else { return ask(directory) }
            for listing in found {
                guard case .success(let models) = listing.models else { continue }
                estimates.learn(models, of: listing.upstream.description)
            }
            listings = found
            expires = shard.now + Self.lifetime
            for answer in waiting {
                answer.resume(returning: found)
            }
            waiting = []
        }
    }

    private static func ask(_ upstreams: [Upstream]) async -> [Listing] {
        await withTaskGroup(of: (Int, Listing).self) { group in
            for (index, upstream) in upstreams.enumerated() {
                group.addTask { (index, await ask(upstream)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Asks one, for as long as its factory allows.
    public static func ask(_ upstream: Upstream) async -> Listing {
        do throws(ModelError) {
            return Listing(upstream: upstream, models: .success(try await upstream.model.listModels()))
        } catch {
            return Listing(upstream: upstream, models: .failure(error))
        }
    }
}
