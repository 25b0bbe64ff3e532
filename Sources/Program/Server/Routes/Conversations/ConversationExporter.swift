import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdPostgresStore
import ChatterdRelay

/// Sends an export page by page, as fast as its client reads. Confined to its shard.
final class ConversationExporter {
    /// The bytes that one write adds to the output.
    private static let pieceSize = 64 << 10

    private var export: ConversationExport
    private let archive: ConversationArchive
    private let unsentLimit: Int
    private let watch: RevocationWatch
    private var drained: CheckedContinuation<Void, Never>?
    /// The error of a credential that is revoked meanwhile.
    private var revocation: RelayError?
    /// Whether a line is sent in part.
    private var isInLine = false

    init(
        _ export: ConversationExport, from archive: ConversationArchive, unsentLimit: Int, until watch: RevocationWatch
    ) {
        self.export = export
        self.archive = archive
        self.unsentLimit = unsentLimit
        self.watch = watch
    }

    /// Sends all lines. It returns when the response is written, or the client has left.
    ///
    /// - Throws: the error of the first page, before the response begins. A later error is the last line.
    func run(to responder: Responder, fields: Fields) async throws(RelayError) {
        var page = export.isAtEnd ? nil : try await archive.nextPage(of: &export)
        guard responder.isWaiting else { return }
        let stream = responder.stream(.ok, fields: fields)
        let registration = watch.begin { [self] error in
            revocation = error
            resume()
        }
        defer { registration?.cancel() }
        stream.onDrained = { [self] in resume() }
        stream.onClientGone = { [self] in resume() }
        stream.write { $0.append(export.header) }
        var rows = 0
        do throws(RelayError) {
            while var lines = page?.rows {
                while !stream.isClosed, let line = lines.nextLine() {
                    await send(line, to: stream)
                    if let revocation { throw revocation }
                }
                guard !stream.isClosed else { return }
                rows += lines.count
                // The page is released before the next one is read.
                page?.memory.shrink(to: 0)
                page = nil
                if !export.isAtEnd {
                    page = try await archive.nextPage(of: &export)
                }
            }
            stream.write { $0.append(endOfFileWith: rows) }
        } catch {
            responder.annotate(error)
            stream.write { buffer in
                if isInLine { buffer.append("\n") }
                buffer.append(endOfFileAfter: error)
            }
        }
        stream.finish()
    }

    /// Sends a line in pieces, and waits while too much is unsent. It stops when the credential is revoked.
    private func send(_ line: ByteBuffer, to stream: ResponseStream) async {
        var start = 0
        isInLine = true
        while start < line.count, !stream.isClosed {
            guard revocation == nil else { return }
            let end = min(start + Self.pieceSize, line.count)
            stream.write { $0.append(line.bytes.extracting(start..<end)) }
            start = end
            if stream.unsentCount > unsentLimit {
                await waitUntilDrained(stream)
            }
        }
        isInLine = false
    }

    private func waitUntilDrained(_ stream: ResponseStream) async {
        await withCheckedContinuation { continuation in
            drained = continuation
            stream.awaitDrain()
        }
    }

    private func resume() {
        drained.take()?.resume()
    }
}
