import ChatterdBasics

/// Reading and ending replies, wherever they are made.
extension ChatService {
    /// Finds a reply. If its owner is dead, the reply is closed first, or another process adopts it.
    public func find(_ id: ReplyID, appID: String? = nil) async throws(RelayError) -> ReplyRecord {
        var record = try await store.findReply(id)
        if let found = record, found.isAbandoned, found.state == nil, await settle(found.turn) {
            record = try await store.findReply(id)
        }
        guard let record, appID == nil || appID == record.turn.appID else {
            throw RelayError(.replyNotFound, "There is no such reply.")
        }
        return record
    }

    /// Closes a turn of a dead process; returns whether it is closed now.
    private func settle(_ turn: Turn) async -> Bool {
        // The store may refuse it, or be away: then the reply is as it was found.
        (try? await store.settleTurn(turn, isAbandoned: false, isUnwanted: false)) ?? false
    }

    /// Has a reader read a reply from a position on; the reader hears nothing before this returns.
    public func subscribe(
        _ reader: any ReplyReader, to record: ReplyRecord, from position: ReplyPosition
    ) -> ReplySubscription {
        if let reply = reply(record.id) {
            return reply.subscribe(reader, from: position)
        }
        return follower(of: record, from: position).subscribe(reader, from: position)
    }

    /// The follower of a reply that this shard does not own; a new follower starts at `position`.
    func follower(of record: ReplyRecord, from position: ReplyPosition) -> ReplyFollower {
        followers[record.id] ?? makeFollower(of: record, from: position)
    }

    private func makeFollower(of record: ReplyRecord, from position: ReplyPosition) -> ReplyFollower {
        let id = record.id
        let home = directory[id]
        var surroundings = ReplyFollower.Surroundings(
            pull: { [unowned self] position async throws(RelayError) in
                let isMadeHere = directory[id] != nil
                let page: ReplyPage
                do throws(RelayError) {
                    page = try await self.page(of: record, from: position)
                } catch {
                    throw isStopping && !isMadeHere ? Self.ending : error
                }
                // Who reads a reply of another process can go on there.
                if isStopping, !isMadeHere, page.ending == nil { throw Self.ending }
                if page.ending == nil, let trouble = page.trouble {
                    guard !page.isEmpty else { throw trouble }
                    // The reader gets the available text first. The next pull throws the error.
                    followers[id]?.poke()
                }
                if page.ending == nil, directory[id] == nil, let follower = followers[id], follower.tick == nil {
                    // Its shard has let it go without an end: nobody here will tell when there is more.
                    follower.tick = limits.journalTick
                }
                return page
            })
        if home == nil, record.state == nil {
            surroundings.keepAlive = { [unowned self] in
                // If it fails, the next one is four seconds away.
                scheduler.spawn { [self] in try? await store.signal(.read, to: record) }
            }
        }
        let watch = ReplyWatch(on: scheduler) { [unowned self] in followers[id]?.poke() }
        surroundings.onPresence = { isRead in
            home?.scheduler.run {
                if isRead {
                    home?.reply(id)?.watch(watch)
                } else {
                    home?.reply(id)?.stopWatching(watch)
                }
            }
        }
        surroundings.onIdle = { [unowned self] in
            followers[id] = nil
            watch.cancel()
        }
        let follower = ReplyFollower(
            from: position, tick: home == nil ? limits.journalTick : nil,
            lines: lines(of: record), surroundings: surroundings, scheduler: scheduler, limits: limits)
        followers[id] = follower
        return follower
    }

    private func lines(of record: ReplyRecord) -> ReplyLines {
        ReplyLines(model: record.model, createdAt: record.createdAt * 1000)
    }

    /// All there is of a reply, with its ending if it is over; the last event is without text of its own.
    ///
    /// - Parameter memory: a reservation that grows to the size of the page, the document and the output.
    /// - Throws: `overloaded` if the budget has no memory for them.
    public func readWhole(
        _ record: ReplyRecord, in memory: MemoryReservation? = nil
    ) async throws(RelayError) -> ReplyPage {
        var whole = ReplyPage(start: ReplyPosition(attempt: record.attempt))
        while true {
            if let memory, !memory.grow(to: 3 * whole.end.total, for: .result) {
                throw RelayError(.overloaded, memory.refusal)
            }
            let page = try await page(of: record, from: whole.end)
            if page.start != whole.end {
                // It was begun again meanwhile.
                whole = page
            } else {
                whole.text += page.text
                whole.thinking += page.thinking
                whole.toolCalls += page.toolCalls
                whole.ending = page.ending
            }
            if let ending = whole.ending {
                whole.ending = lines(of: record).ending(ending)
                return whole
            }
            if page.isEmpty { return whole }
        }
    }

    /// Ends a reply, and waits a while for its end.
    ///
    /// - Returns: the reply as it is then.
    public func stop(_ record: ReplyRecord) async throws(RelayError) -> ReplyRecord {
        guard record.state == nil else { return record }
        if let home = directory[record.id] {
            home.scheduler.run { home.reply(record.id)?.cancel(.stopped) }
        } else if record.isAbandoned {
            // Nobody is there to be told.
            _ = try await store.settleTurn(record.turn, isAbandoned: false, isUnwanted: true)
        } else {
            try await store.signal(.stop, to: record)
        }
        let start = scheduler.now()
        let pause = Pause(on: scheduler)
        var delay = Duration.milliseconds(10)
        while true {
            await pause.wait(atMost: delay)
            let found = try await find(record.id)
            let waited = Duration.nanoseconds(Int64(clamping: scheduler.now() &- start))
            if found.state != nil || waited >= limits.stopTimeout { return found }
            delay = min(delay * 2, .milliseconds(200))
        }
    }

    /// A deleted reply has no stored end, so reading it throws.
    ///
    /// - Throws: `conversationReplaced` if the reply is gone.
    public func page(of record: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        // What is stored is whole; memory may still wait to hear of that.
        if record.state == nil, let home = directory[record.id],
            let page = await home.memoryPage(of: record.id, from: position, for: self)
        {
            return page
        }
        do throws(RelayError) {
            return try await store.readReply(record, from: position)
        } catch  where error.code == .replyNotFound {
            throw RelayError.goneMeanwhile
        }
    }

    /// Asks this service, from the shard of another one.
    private func memoryPage(
        of id: ReplyID, from position: ReplyPosition, for asker: ChatService
    ) async -> ReplyPage? {
        if self === asker { return reply(id)?.memoryPage(from: position) }
        return await withUnsafeContinuation { continuation in
            scheduler.run { [self] in
                let page = reply(id)?.memoryPage(from: position)
                asker.scheduler.run { continuation.resume(returning: page) }
            }
        }
    }
}
