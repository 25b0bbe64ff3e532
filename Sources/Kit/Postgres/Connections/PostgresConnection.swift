import CChatterdPostgres
import ChatterdBasics
import ChatterdSockets
import Glibc

/// A connection in pipeline mode. Confined to its shard.
///
/// The connection sends each batch at once and ends it with a Sync, so an error skips the rest of its batch and no other. The
/// server answers in order, so it always answers the first batch.
final class PostgresConnection: ReadinessHandler {
    private let pool: PostgresPool
    private let shard: Shard
    /// libpq's connection; `nil` once it is closed.
    private var handle: OpaquePointer?
    private let descriptor: Int32
    private let isEncrypted: Bool
    /// Whether the session belongs to this connection, so that it prepares each statement once. A pooler may change the session
    /// between batches; the server then parses a statement each time.
    private let ownsSession: Bool
    /// The instant at which the pool asked for the connection.
    private let begun: Instant
    private var registration: Registration?
    /// The batches that were sent and not answered.
    private var batches = Queue<Batch>()
    /// Whether this connection has prepared a statement; the index is the statement's id.
    private var prepared: [Bool] = []
    private var buffer = ParameterBuffer()
    /// Whether output waits for space in the socket.
    private var isBlocked = false
    /// Whether the server has closed or is about to close, so that the connection reads up to the end.
    private var isEnding = false
    private var isReading = false
    private var readsAgain = false
    /// Whether the connection continues to read in the next turn of the shard.
    private var isWaitingToRead = false
    /// The maximum number of reads in a turn. A large result arrives in several turns, so that others get theirs.
    private static let readsPerTurn = 16
    /// The size of a result or query, in bytes, beyond which the pool replaces the connection. libpq's buffers grow and never
    /// shrink.
    private static let largestBuffer = 2 << 20
    private var hasLargeBuffers = false
    /// The time for which the server may be busy with one batch before it counts as stalled.
    private static let stallAge = Duration.milliseconds(250)
    /// The instant from which the server has been busy with the first batch.
    private var busySince: Instant
    /// Whether the connection refuses new batches; it closes when the last one is answered.
    private(set) var isRetired = false
    private lazy var timer = DeadlineTimer(on: shard) { [unowned self] in timeLimitPassed() }

    /// Takes ownership of an open connection.
    ///
    /// - Throws: `connectionFailed`.
    init(_ established: EstablishedConnection, pool: PostgresPool) throws(PostgresError) {
        self.pool = pool
        shard = pool.shard
        ownsSession = established.ownsSession
        guard let handle = established.connection.release() else {
            throw PostgresError(.connectionFailed, "the connection is closed", isSafeToRetry: true)
        }
        self.handle = handle
        descriptor = PQsocket(handle)
        isEncrypted = PQsslInUse(handle) == 1
        begun = established.begun
        busySince = shard.now
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            close()
            throw PostgresError(.connectionFailed, "pipeline mode was refused", isSafeToRetry: true)
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        PQsetNoticeReceiver(handle, { PostgresConnection.forward(notice: $1, to: $0) }, context)
        do {
            registration = try shard.register(descriptor, handler: self)
        } catch {
            close()
            throw PostgresError(.connectionFailed, error.message, isSafeToRetry: true)
        }
    }

    deinit {
        PQfinish(handle)
    }

    /// The number of unanswered batches.
    var load: Int { batches.count }

    /// Whether another batch may be sent now.
    ///
    /// Behind a pooler a connection sends one batch at a time: PgBouncer lends the session to its next client as soon as the server is ready,
    /// even in the middle of a message. The next client's bytes would become the rest of that message.
    var acceptsBatch: Bool { !isRetired && load < (ownsSession ? pool.configuration.pipelineDepth : 1) }

    /// Whether the server has been busy with the first batch for so long that the next ones should go elsewhere: it waits for a lock or for a
    /// standby, or runs a slow statement.
    var isStalled: Bool { !batches.isEmpty && now - busySince > Self.stallAge }

    private var now: Instant { shard.now }

    // MARK: - Sending

    /// Sends a batch. The batch gets the results or the error.
    func send(_ batch: Batch) {
        guard let handle, write(batch, to: handle) else {
            // Without the Sync, the server rolls back its part of the batch.
            batch.error = PostgresError(.connectionLost, lastMessage, isSafeToRetry: true)
            lose(PostgresError(.connectionLost, lastMessage))
            pool.finished(batch)
            return
        }
        batch.deadline = now + pool.configuration.timeLimit
        batches.append(batch)
        if load == 1 {
            busySince = now
            timer.set(at: batch.deadline)
        }
        flush()
    }

    private func write(_ batch: Batch, to handle: OpaquePointer) -> Bool {
        let isWritten = ownsSession ? writePrepared(batch, to: handle) : writeUnnamed(batch, to: handle)
        // The Sync is written to the socket at once.
        return isWritten && PQpipelineSync(handle) == 1
    }

    /// Writes the settings that the transaction needs, and the queries as unnamed statements.
    private func writeUnnamed(_ batch: Batch, to handle: OpaquePointer) -> Bool {
        let settings = SessionSettings.set(timeLimit: pool.configuration.timeLimit, forTransaction: true).bound
        batch.preparing.append(settings.statement)
        return ([settings] + batch.queries).allSatisfy { query in
            let statement = query.statement
            return buffer.withEncoded(query.parameters) { values, lengths, formats in
                PQsendQueryParams(
                    handle, statement.sql, Int32(query.parameters.count), statement.types, values, lengths, formats,
                    statement.returnsBinary ? 1 : 0)
            } == 1
        }
    }

    private func writePrepared(_ batch: Batch, to handle: OpaquePointer) -> Bool {
        for query in batch.queries {
            let statement = query.statement
            guard !isPrepared(statement) else { continue }
            let types = statement.types
            guard PQsendPrepare(handle, statement.name, statement.sql, Int32(types.count), types) == 1 else {
                return false
            }
            setPrepared(statement, true)
            batch.preparing.append(statement)
        }
        for query in batch.queries {
            let statement = query.statement
            let sent = buffer.withEncoded(query.parameters) { values, lengths, formats in
                PQsendQueryPrepared(
                    handle, statement.name, Int32(query.parameters.count), values, lengths, formats,
                    statement.returnsBinary ? 1 : 0)
            }
            guard sent == 1 else { return false }
            hasLargeBuffers = hasLargeBuffers || buffer.size > Self.largestBuffer
        }
        return true
    }

    private func isPrepared(_ statement: PreparedStatement) -> Bool {
        statement.id < prepared.count && prepared[statement.id]
    }

    private func setPrepared(_ statement: PreparedStatement, _ value: Bool) {
        while prepared.count <= statement.id {
            prepared.append(false)
        }
        prepared[statement.id] = value
    }

    private func flush() {
        guard let handle else { return }
        switch PQflush(handle) {
        case 0:
            isBlocked = false
        case 1:
            isBlocked = true
        default:
            lose(PostgresError(.connectionLost, lastMessage))
            return
        }
        // libpq may have read while the socket was full. No event reports that.
        if isBlocked || PQisBusy(handle) == 0 {
            read()
        }
    }

    // MARK: - Receiving

    /// Reads and writes as far as the socket allows. The shard calls this.
    func becameReady(_ readiness: Readiness) {
        if isBlocked {
            flush()
        }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .failed]) {
            isEnding = true
        }
        if isEncrypted || isEnding || readiness.contains(.readable) {
            read()
        }
    }

    /// Reads all input, because epoll does not report the rest again.
    private func read() {
        guard !isReading else {
            readsAgain = true
            return
        }
        isReading = true
        var reads = 0
        repeat {
            readsAgain = false
            guard let handle else { break }
            guard reads < Self.readsPerTurn else {
                readLater()
                break
            }
            reads += 1
            let isAlive = PQconsumeInput(handle) == 1
            readResults()
            if !isAlive {
                lose(PostgresError(.connectionLost, lastMessage))
            }
        } while readsAgain || hasUnreadInput
        isReading = false
        pool.connectionProgressed(self)
    }

    private func readLater() {
        guard !isWaitingToRead else { return }
        isWaitingToRead = true
        let connection = Confined(self, to: shard)
        shard.run { connection.value.continueReading() }
    }

    private func continueReading() {
        isWaitingToRead = false
        read()
    }

    private var hasUnreadInput: Bool {
        // An event reports input that follows the last answer.
        guard let handle, load > 0 || isEnding else { return false }
        if isEncrypted, cpostgres_pending_bytes(handle) > 0 { return true }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    private func readResults() {
        // Between the answers of two queries libpq returns NULL once.
        var pauses = 0
        while let handle, PQisBusy(handle) == 0, let batch = batches.first {
            guard let result = PQgetResult(handle) else {
                pauses += 1
                guard pauses < 3 else {
                    let isBroken = PQstatus(handle) == CONNECTION_BAD
                    let reason = isBroken ? lastMessage : "the server's answers do not match the queries"
                    lose(PostgresError(.connectionLost, reason))
                    return
                }
                continue
            }
            pauses = 0
            accept(result, for: batch)
        }
    }

    private func accept(_ result: OpaquePointer, for batch: Batch) {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            if batch.preparedCount < batch.preparing.count {
                batch.preparedCount += 1
                PQclear(result)
            } else {
                let rows = QueryResult(result)
                // libpq's buffer must hold a whole row. A result of many small rows leaves the buffer small.
                hasLargeBuffers =
                    hasLargeBuffers || rows.rowCount < 64 && rows.memorySize > Self.largestBuffer
                batch.append(rows)
            }
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            finishFirst()
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            if batch.error == nil {
                fail(batch, with: result)
            }
            PQclear(result)
        default:
            PQclear(result)
            lose(PostgresError(.other, "COPY is not supported here"))
        }
    }

    private func fail(_ batch: Batch, with result: OpaquePointer) {
        var error = PostgresError(result: result)
        // A pooler reports 08P01 if it loses the server, which may have reached the commit.
        let isSaidByServer = error.sqlState.map { ownsSession || !$0.hasPrefix("08") } ?? false
        let isGone = error.code == .connectionLost && isSaidByServer
        if isGone, !batch.hasAllResults {
            // The server announced the end of the session before it reached the commit.
            error = error.safeToRetry()
        }
        batch.error = error
        for statement in batch.preparing[batch.preparedCount...] {
            setPrepared(statement, false)
        }
        let function = PQresultErrorField(result, Int32(cpostgres_function)).map { String(cString: $0) }
        switch error.sqlState {
        case "26000":
            // The batch before should have prepared the statement, and failed.
            if batch.results.count < batch.queries.count {
                setPrepared(batch.queries[batch.results.count].statement, false)
            }
            batch.repeatOnce(at: now)
        case "0A000" where function == "RevalidateCachedQuery", "42P05":
            // The tables have changed under a prepared statement, or the session has statements of another client.
            isRetired = true
            batch.repeatOnce(at: now)
        case "25006":
            // After a failover the next connection may find the new primary; once a second is often enough.
            isRetired = now - begun > .seconds(1)
        default:
            if isGone, error.isSafeToRetry {
                // A pooler keeps the connection open.
                isRetired = true
                batch.repeatAfterEnd(ofSessionBegunAt: begun, at: now)
            }
        }
    }

    private func finishFirst() {
        guard let batch = batches.popFirst() else { return }
        isRetired = isRetired || hasLargeBuffers
        if let next = batches.first {
            busySince = now
            timer.set(at: next.deadline)
        } else {
            timer.cancel()
        }
        pool.finished(batch)
    }

    // MARK: - Ends

    private var lastMessage: String {
        handle.flatMap { PQerrorMessage($0) }.map { PostgresError.firstLine($0) } ?? "the connection is closed"
    }

    private func timeLimitPassed() {
        // The answer may have arrived while this process was not running.
        read()
        guard let first = batches.first else { return }
        guard first.deadline <= now else {
            timer.set(at: first.deadline)
            return
        }
        lose(PostgresError(.connectionLost, "the server did not answer in time"))
    }

    /// Closes the connection. The outcome of batches in flight is unknown.
    func giveUp() {
        lose(PostgresError(.shuttingDown, "the server did not answer before the end"))
    }

    /// Closes the connection and fails its unanswered batches.
    private func lose(_ error: PostgresError) {
        guard handle != nil else { return }
        let lost = batches.removeAll()
        close()
        pool.ended(self, error)
        for batch in lost {
            if batch.error == nil {
                batch.error =
                    batch.deadline <= now
                    ? PostgresError(.timedOut, "no answer within \(pool.configuration.timeLimit)") : error
            }
            pool.finished(batch)
        }
        pool.connectionProgressed(self)
    }

    /// Closes the connection, which must have no unanswered batches.
    func close() {
        timer.cancel()
        if let registration = registration.take() {
            shard.unregister(registration)
        }
        PQfinish(handle.take())
    }

    private static func forward(notice: OpaquePointer?, to context: UnsafeMutableRawPointer?) {
        guard let notice, let context else { return }
        let connection = Unmanaged<PostgresConnection>.fromOpaque(context).takeUnretainedValue()
        // The server's announcement of the end comes as a notice to an idle session, which it closes a moment later.
        if PostgresError(result: notice).code == .connectionLost { connection.isRetired = true }
        guard let message = PQresultErrorField(notice, Int32(cpostgres_message)) else { return }
        connection.pool.configuration.log("postgres: \(PostgresError.firstLine(message))")
    }
}
