import ChatterdBasics
import ChatterdIdentity

/// Reads an exported conversation, or the next piece of one, line by line, and checks that no row is missing.
public struct ConversationFileReader: Sendable {
    /// The version of the file format.
    public static let version = 1

    /// The rows that are stored before the first row of a piece.
    public struct Start: Sendable, Equatable {
        /// The number of the last row; 0 for none.
        public var last: Int64
        /// The number of rows.
        public var rows: Int

        public init(last: Int64 = 0, rows: Int = 0) {
            self.last = last
            self.rows = rows
        }
    }

    /// The first line; `nil` for a later piece.
    public private(set) var header: ConversationHeader?
    /// Whether the last line was there.
    public private(set) var isComplete = false
    /// The number of rows so far, with the stored ones.
    public private(set) var rows: Int
    private let isPiece: Bool
    private var last: Int64
    private var hasRows = false
    private var number = 0
    /// The numbers of the rows of this file, in order.
    private var seqs: [Int64] = []

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - isPiece: whether the file may be incomplete.
    ///   - start: the stored rows. A file without a header continues behind them.
    public init(isPiece: Bool = false, after start: Start = Start()) {
        self.isPiece = isPiece
        last = start.last
        rows = start.rows
    }

    /// Whether a text has the first line of a file, so that no rows may be stored before it.
    public static func hasHeader(_ text: Span<UInt8>) -> Bool {
        var start = 0
        while let line = Self.line(in: text, from: &start) {
            guard !text.extracting(line).isBlank else { continue }
            return (try? ConversationLineMembers(text.extracting(line)))?.has(.chatterd) ?? false
        }
        return false
    }

    /// Reads a text, and passes each row to `body`.
    ///
    /// - Throws: `invalidRequest` with the number of the line.
    public mutating func read(
        _ text: Span<UInt8>, _ body: (ConversationRow) -> Void
    ) throws(RelayError) {
        var start = 0
        while let line = Self.line(in: text, from: &start) {
            number += 1
            let line = text.extracting(line)
            guard !line.isBlank else { continue }
            do throws(ConversationLineFault) {
                if let row = try read(line) { body(row) }
            } catch {
                throw RelayError(.invalidRequest, "Line \(number): \(error.message).")
            }
        }
        guard isComplete || isPiece else {
            throw RelayError(
                .invalidRequest,
                "The file is cut: it does not end with the line {\"end\":true,…}. Send all of it, or send its pieces one by one with "
                    + "?continue=1.")
        }
    }

    /// The range of the next line, without its end; `nil` at the end of the text.
    private static func line(in text: Span<UInt8>, from start: inout Int) -> Range<Int>? {
        guard start < text.count else { return nil }
        let first = start
        while start < text.count, text[start] != UInt8(ascii: "\n") {
            start += 1
        }
        defer { start += 1 }
        return first..<start
    }

    private mutating func read(_ line: Span<UInt8>) throws(ConversationLineFault) -> ConversationRow? {
        let members = try ConversationLineMembers(line)
        guard !isComplete else { throw ConversationLineFault("it follows the end of the file") }
        if members.has(.error) {
            throw ConversationLineFault("the export ended with an error; export the conversation again")
        }
        if members.has(.chatterd) {
            guard header == nil, !hasRows, rows == 0 else {
                throw ConversationLineFault("a header must be the first line")
            }
            header = try ConversationHeader(members)
            return nil
        }
        guard header != nil || isPiece else {
            throw ConversationLineFault("the first line must be the header of a conversation")
        }
        if members.has(.end) {
            try end(members)
            return nil
        }
        let row = try ConversationRow(members)
        try append(row, below: try members.integer(.above, in: 0...ConversationRow.largestSeq))
        return row
    }

    private mutating func end(_ members: borrowing ConversationLineMembers) throws(ConversationLineFault) {
        guard members.isTrue(.end), let count = try members.integer(.rows, in: 0...Int64.max) else {
            throw ConversationLineFault("the end must have the number of rows")
        }
        guard count == rows else {
            throw ConversationLineFault("the file should have \(count) rows, and has \(rows)")
        }
        isComplete = true
    }

    private mutating func append(_ row: ConversationRow, below above: Int64?) throws(ConversationLineFault) {
        guard (above ?? row.seq - 1) == last, row.seq > last else {
            throw ConversationLineFault(
                "row \(row.seq) does not follow row \(last), \(hasRows ? "the one before it" : "the last one that is stored")"
            )
        }
        if let after = row.after, after > 0, header != nil || after >= seqs.first ?? row.seq, !has(after) {
            throw ConversationLineFault("row \(row.seq) follows a row that does not exist")
        }
        last = row.seq
        hasRows = true
        rows += 1
        seqs.append(row.seq)
    }

    /// Whether the file has a row, found by bisection.
    private func has(_ seq: Int64) -> Bool {
        var (low, high) = (0, seqs.count)
        while low < high {
            let middle = (low + high) / 2
            if seqs[middle] == seq { return true }
            if seqs[middle] < seq {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return false
    }
}

extension ConversationHeader {
    fileprivate init(_ line: borrowing ConversationLineMembers) throws(ConversationLineFault) {
        guard try line.string(.chatterd, upTo: 64) == "conversation",
            try line.integer(.version, in: 0...Int64.max) == Int64(ConversationFileReader.version)
        else {
            throw ConversationLineFault(
                "it must be the header of a conversation of version \(ConversationFileReader.version)")
        }
        let name = try line.required(.conversation, try line.string(.conversation, upTo: Self.nameLimit))
        let createdAt = try line.required(.createdAt, try line.time(.createdAt))
        self.init(
            name: name, title: try line.string(.title, upTo: Self.titleLimit), createdAt: createdAt,
            updatedAt: try line.time(.updatedAt) ?? createdAt, archivedAt: try line.time(.archivedAt),
            metadata: try Self.metadata(line))
    }

    private static func metadata(_ line: borrowing ConversationLineMembers) throws(ConversationLineFault) -> [UInt8] {
        var count = 0
        return try line.members(.metadata) { name, value in
            count += 1
            // The title has a member of its own.
            guard count <= ConversationMetadata.maximumPairs, name != "title", value[0] == UInt8(ascii: "\"") else {
                return false
            }
            return ConversationMetadata.permits(name, String(decodingJSON: value.extracting(1..<value.count - 1)))
        }
    }

    /// The limit of the name in a file, in bytes. It has no effect.
    private static let nameLimit = 4 * ConversationKey.maximumNameLength
}

extension Span<UInt8> {
    /// Whether there is only white space.
    fileprivate var isBlank: Bool {
        for index in 0..<count where ![0x20, 0x09, 0x0D].contains(self[index]) { return false }
        return true
    }
}
