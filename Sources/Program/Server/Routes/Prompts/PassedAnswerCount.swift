import ChatterdBasics

/// Counts the tokens of an answer while it is passed on: the server's own counts at its end, or a token for each line that is not empty.
struct PassedAnswerCount {
    /// The bytes at the end of the answer that are kept for the counts. Ollama writes them last.
    private static let tailLimit = 1 << 10

    private let countsLines: Bool
    private var tail: [UInt8] = []
    private var lines = 0
    private var isLineEmpty = true

    /// Makes the count of an answer; `countsLines` is `false` if its lines are no tokens.
    init(countsLines: Bool = true) {
        self.countsLines = countsLines
    }

    /// Adds a piece of the answer.
    mutating func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices {
            let isLineEnd = bytes[index] == UInt8(ascii: "\n")
            if isLineEnd, !isLineEmpty { lines += 1 }
            isLineEmpty = isLineEnd
        }
        let piece = bytes.extracting(last: min(bytes.count, Self.tailLimit)).array
        tail = (tail + piece).suffix(Self.tailLimit)
    }

    /// The server's count of the prompt; `nil` if it gave none.
    var promptTokens: Int? { number(after: #""prompt_eval_count":"#) ?? number(after: #""prompt_tokens":"#) }

    /// The tokens of the answer.
    var answerTokens: Int {
        number(after: #""eval_count":"#) ?? number(after: #""completion_tokens":"#) ?? (countsLines ? lines : 0)
    }

    /// The count behind the last occurrence of a name: a whole number of at most nine digits, as in the usage of replies. Texts in JSON
    /// escape quotes, so they cannot contain the name.
    private func number(after name: String) -> Int? {
        guard let found = tail.lastRange(of: Array(name.utf8)) else { return nil }
        let rest = tail[found.upperBound...].drop { $0 == UInt8(ascii: " ") }
        let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let next = rest.dropFirst(digits.count).first
        let isWhole = ![UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(next)
        return isWhole && digits.count <= 9 ? Int(String(decoding: digits, as: UTF8.self)) : nil
    }
}

extension [UInt8] {
    /// The last range with these bytes.
    fileprivate func lastRange(of bytes: [UInt8]) -> Range<Int>? {
        guard count >= bytes.count else { return nil }
        return stride(from: count - bytes.count, through: 0, by: -1).lazy
            .map { $0..<$0 + bytes.count }.first { self[$0].elementsEqual(bytes) }
    }
}
