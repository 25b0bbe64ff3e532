import ChatterdBasics

/// The followers of replies that other shards and processes generate.
extension ChatService {
    /// The follower of a reply that this shard does not own; a new follower starts at `position`.
    func follower(of record: ReplyRecord, from position: ReplyPosition) -> ReplyFollower {
        followers[record.id] ?? makeFollower(of: record, from: position)
    }

    private func makeFollower(of record: ReplyRecord, from position: ReplyPosition) -> ReplyFollower {
        let home = directory[record.id]
        let follower = ReplyFollower(
            from: position, tick: home == nil ? limits.journalTick : nil, lines: lines(of: record),
            hooks: makeHooks(for: record, at: home), scheduler: scheduler, limits: limits)
        followers[record.id] = follower
        return follower
    }

    /// The hooks of a reply's follower.
    ///
    /// - Parameter home: the service of this process that generates the reply; `nil` if no service does.
    private func makeHooks(for record: ReplyRecord, at home: ChatServiceReference?) -> ReplyFollower.Hooks {
        let id = record.id
        let signal = CrossShardSignal(on: scheduler) { [unowned self] in followers[id]?.signal() }
        var hooks = ReplyFollower.Hooks(
            pull: { [unowned self] position, steps async throws(RelayError) in
                try await followedPage(of: record, from: position, steps: steps)
            })
        if home == nil, record.state == nil {
            hooks.keepAlive = { [unowned self] in
                // After a failure, the next signal follows in four seconds.
                scheduler.spawn { [store] in try? await store.signal(.read, to: record) }
            }
        }
        hooks.onPresence = { isRead in
            home?.run { service in
                if isRead {
                    service.reply(id)?.addFollower(signal)
                } else {
                    service.reply(id)?.removeFollower(signal)
                }
            }
        }
        hooks.onIdle = { [unowned self] in
            followers[id] = nil
            signal.cancel()
        }
        return hooks
    }

    /// Reads a page for the follower of a reply.
    ///
    /// - Throws: `shuttingDown` for a reply of another process when this one stops: the reader can continue there. The interim error of
    ///   a page without new content.
    private func followedPage(
        of record: ReplyRecord, from position: ReplyPosition, steps: String?
    ) async throws(RelayError) -> ReplyPage {
        let isLocal = directory[record.id] != nil
        let page: ReplyPage
        do throws(RelayError) {
            page = try await self.page(of: record, from: position, steps: steps)
        } catch {
            throw isStopping && !isLocal ? Self.ending : error
        }
        guard page.ending == nil else { return page }
        if isStopping, !isLocal { throw Self.ending }
        if let interimError = page.interimError {
            guard !page.isEmpty else { throw interimError }
            // The reader gets the available text first. The next pull throws the error.
            followers[record.id]?.signal()
        }
        if directory[record.id] == nil, let follower = followers[record.id], follower.tick == nil {
            // Its shard has released the reply without an end and sends no more signals. The follower polls instead.
            follower.tick = limits.journalTick
        }
        return page
    }
}
