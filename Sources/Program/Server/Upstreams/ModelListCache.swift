import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdSockets

/// The models that the model servers of a shard list. A shard asks them once in five seconds at most, or once in a second for a name that no
/// list has. The directory learns each answer. Confined to its shard.
public final class ModelListCache {
    /// The answer of one model server.
    public struct Listing: Sendable {
        let upstream: Upstream
        /// The models for chats that the server lists, or the error.
        public let models: Result<[ModelDescription], ModelError>
        /// The names of all of its models.
        var names: Set<String> = []
    }

    private static let lifetime = Duration.seconds(5)
    /// The age at which the lists are read again for a name that they do not have: the model may be new.
    private static let lifetimeForUnknownNames = Duration.seconds(1)

    private let shard: Shard
    private let estimates: TokenEstimates
    private var listings: [Listing]?
    /// The time of `listings`.
    private var askedAt = Instant.distantPast
    /// The number of changes of the list of model servers.
    private var generation = 0
    private var isAsking = false
    private var waiting: [CheckedContinuation<[Listing], Never>] = []

    /// Makes an empty cache.
    ///
    /// - Parameter estimates: learns the context windows of the models.
    init(on shard: Shard, estimates: TokenEstimates) {
        self.shard = shard
        self.estimates = estimates
    }

    /// Discards all answers, because the list of model servers has changed.
    func invalidate() {
        listings = nil
        generation += 1
    }

    /// The answers of the model servers, in the order of the directory. Concurrent callers get the same answers.
    func listings(of directory: UpstreamDirectory) async -> [Listing] {
        await listings(of: directory, notOlderThan: Self.lifetime)
    }

    /// Asks the model servers for a name that no list has.
    func ask(_ directory: UpstreamDirectory) async {
        _ = await listings(of: directory, notOlderThan: Self.lifetimeForUnknownNames)
    }

    /// Asks the model servers in the background, if the answers have expired.
    func refreshIfOld(_ directory: UpstreamDirectory) {
        guard !isAsking, listings == nil || shard.now >= askedAt + Self.lifetime else { return }
        isAsking = true
        begin(directory)
    }

    private func listings(of directory: UpstreamDirectory, notOlderThan age: Duration) async -> [Listing] {
        if let listings, shard.now < askedAt + age {
            return listings
        }
        return await withCheckedContinuation { continuation in
            waiting.append(continuation)
            if !isAsking {
                isAsking = true
                begin(directory)
            }
        }
    }

    private func begin(_ directory: UpstreamDirectory) {
        let cache = Confined((self, directory), to: shard)
        Task(executorPreference: shard) {
            let (cache, directory) = cache.value
            await cache.refresh(from: directory)
        }
    }

    /// Asks the model servers until the list did not change meanwhile, and answers the callers.
    private func refresh(from directory: UpstreamDirectory) async {
        var asked: Int
        var found: [Listing]
        repeat {
            asked = generation
            found = await Self.listings(of: directory.upstreams)
        } while asked != generation
        isAsking = false
        for listing in found {
            directory.learn(listing.answer, of: listing.upstream)
            guard case .success(let models) = listing.models else { continue }
            estimates.learn(models, of: listing.upstream.description)
        }
        listings = found
        askedAt = shard.now
        for continuation in waiting {
            continuation.resume(returning: found)
        }
        waiting = []
    }

    /// Asks all model servers at once.
    private static func listings(of upstreams: [Upstream]) async -> [Listing] {
        await withTaskGroup(of: (Int, Listing).self) { group in
            for (index, upstream) in upstreams.enumerated() {
                group.addTask { (index, await listing(of: upstream)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Asks one model server, within the timeout of its factory.
    public static func listing(of upstream: Upstream) async -> Listing {
        do throws(ModelError) {
            let models = try await upstream.model.listModels()
            return Listing(
                upstream: upstream, models: .success(models.filter(\.canChat)), names: Set(models.map(\.name)))
        } catch {
            return Listing(upstream: upstream, models: .failure(error))
        }
    }
}

extension ModelListCache.Listing {
    /// The answer for the directory.
    fileprivate var answer: UpstreamDirectory.Answer {
        switch models {
        case .success: names.isEmpty ? .none : .names(names)
        case .failure(let error):
            switch error.code {
            case .unavailable, .connectTimeout, .firstByteTimeout, .silenceTimeout, .totalTimeout: .unreachable
            default: .failed
            }
        }
    }
}
