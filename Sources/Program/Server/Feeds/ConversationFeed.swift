import ChatterdBasics
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// One reader of the feed of a conversation. Confined to its shard.
///
/// It holds one page at most. While its reader does not receive, it reads no further one.
final class ConversationFeed {
    let key: ConversationKey
    private let reader: FeedReader
    private let shard: Shard
    /// The position behind the last page; `nil` before the first one of a reader without a position.
    private var position: FeedPosition?
    /// The events of the last page that are not written.
    private var pending: ArraySlice<FeedEvent> = []
    /// Whether the store may have events behind the position.
    private var isWanted = false
    private var isReading = false
    /// Whether the reader must receive more first.
    private var isFull = false
    /// `nil` before the response begins and after it has ended.
    private var writer: FeedWriter?
    private var registration: RevocableResponses.Registration?
    private var onEnd: ((ConversationFeed) -> Void)?

    init(_ key: ConversationKey, after position: FeedPosition?, reader: FeedReader, on shard: Shard) {
        self.key = key
        self.position = position
        self.reader = reader
        self.shard = shard
    }

    /// Reads the first page.
    ///
    /// - Throws: `conversationNotFound`, `storeUnavailable`.
    func readFirst() async throws(RelayError) -> FeedPage {
        let page = try await reader.page(of: key, after: position, isOpen: false)
        guard page.step != .deleted else { throw ConversationCatalogue.notFound }
        return page
    }

    /// Begins to write.
    ///
    /// - Parameter onEnd: called once, when the response has ended.
    func start(
        _ writer: FeedWriter, with first: FeedPage, until watch: RevocationWatch,
        onEnd: @escaping (ConversationFeed) -> Void
    ) {
        self.writer = writer
        self.onEnd = onEnd
        registration = watch.begin { [self] in fail($0) }
        // The stream releases these closures when it ends.
        writer.stream.onClientGone = { [self] in end() }
        writer.stream.onDrained = { [self] in
            guard isFull else { return }
            isFull = false
            writePending()
            advance()
        }
        writer.begin()
        write(first)
        advance()
    }

    /// Reads what is new, because the conversation may have changed.
    func wake() {
        isWanted = true
        advance()
    }

    /// Compares the feed with the head of the conversation; `nil` if that does not exist.
    func check(_ head: FeedHead?) {
        guard let position else { return }
        guard isWanted || head?.epoch != position.epoch || head?.revision != position.revision else { return }
        wake()
    }

    /// Ends the response with an error.
    func fail(_ error: RelayError) {
        writer?.fail(error)
        end()
    }

    // MARK: - Steps

    private func advance() {
        guard isWanted, !isReading, !isFull, writer != nil else { return }
        isReading = true
        let feed = Confined(self, to: shard)
        Task(executorPreference: shard) { await feed.value.read() }
    }

    /// Reads and writes pages until there is no more, or the reader is full. If the store fails, the next poll tries again.
    private func read() async {
        defer { isReading = false }
        while isWanted, !isFull, writer != nil {
            isWanted = false
            do throws(RelayError) {
                write(try await reader.page(of: key, after: position, isOpen: true))
            } catch {
                isWanted = true
                return
            }
        }
    }

    private func write(_ page: FeedPage) {
        guard let writer else { return }
        position = page.position ?? position
        switch page.step {
        case .events:
            pending = page.events[...]
            isWanted = isWanted || page.hasMore
            writePending()
        case .start:
            if let state = page.state { writer.write(state, nil) }
        case .reset(let reason):
            if let state = page.state { writer.write(state, reason) }
        case .deleted:
            writer.end()
            end()
        }
    }

    private func writePending() {
        guard let writer else { return }
        while let event = pending.popFirst() {
            writer.write(event)
            guard writer.isFull else { continue }
            isFull = true
            writer.stream.awaitDrain()
            return
        }
    }

    private func end() {
        registration.take()?.cancel()
        writer = nil
        pending = []
        onEnd.take()?(self)
    }
}
