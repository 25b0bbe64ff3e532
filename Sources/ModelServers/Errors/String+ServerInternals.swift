extension String {
    /// The text without internals of a model server's machine: tracebacks, positions in source files and absolute paths. The last line
    /// of a traceback stays, because it names the failure. Paths of known APIs stay.
    var withoutServerInternals: String {
        var kept: [Substring] = []
        var traceback = false
        var lastLine: Substring?
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            if traceback {
                if !line.allSatisfy(\.isWhitespace) { lastLine = line }
            } else if let mark = line.range(of: "Traceback (most recent call last)") {
                traceback = true
                kept.append(line[..<mark.lowerBound])
            } else {
                kept.append(line)
            }
        }
        if let lastLine, lastLine.first?.isWhitespace == false { kept.append(lastLine) }
        let text = kept.joined(separator: "\n").withoutSourcePositions.withoutPaths
        return text == self ? self : text.trimmed(while: \.isWhitespace)
    }

    /// The text without Python's source positions: `File "…", line N, in name` becomes "…".
    private var withoutSourcePositions: String {
        var text = ""
        var rest = self[...]
        while let start = rest.range(of: "File \"") {
            text += rest[..<start.lowerBound]
            rest = rest[start.upperBound...]
            guard let end = rest.firstIndex(of: "\"") else { return text + "…" }
            rest = rest[rest.index(after: end)...]
            if rest.hasPrefix(", line ") {
                rest = rest.dropFirst(7).drop(while: \.isNumber)
            }
            if rest.hasPrefix(", in ") {
                rest = rest.dropFirst(5).drop { !$0.isWhitespace && $0 != "," && $0 != ":" && $0 != "\"" }
            }
            text += "…"
        }
        return text + rest
    }

    /// The text without absolute paths of two or more names, of Unix or Windows; each becomes "…".
    private var withoutPaths: String {
        var text = ""
        var rest = self[...]
        var before: Character?
        while let character = rest.first {
            let length = Self.opensWord(after: before) ? rest.pathLength : 0
            if length > 0 {
                text += "…"
                rest = rest.dropFirst(length)
                before = "…"
            } else {
                text.append(character)
                rest = rest.dropFirst()
                before = character
            }
        }
        return text
    }

    /// Whether a path can start after a character. A slash within a URL or between two words starts no path.
    private static func opensWord(after character: Character?) -> Bool {
        guard let character else { return true }
        return !character.isLetter && !character.isNumber && !"/\\._-…".contains(character)
    }

    private func trimmed(while isDropped: (Character) -> Bool) -> String {
        let head = drop(while: isDropped)
        return String(head.dropLast(head.reversed().prefix(while: isDropped).count))
    }
}

extension Substring {
    /// The starts of known API paths.
    private static let apis = ["/v1", "/api/", "/chat/", "/completions", "/inference/", "/openai/"]

    /// The length of the path at the start of the text, in characters; 0 without a path.
    fileprivate var pathLength: Int {
        if let first, first.isLetter, first.isASCII, dropFirst().hasPrefix(":\\") {
            return prefix { !$0.isWhitespace && !"\"'<>|,;)".contains($0) }.count
        }
        guard first == "/", dropFirst().first != "/" || hasPrefix("///") else { return 0 }
        let path = prefix { $0.isLetter || $0.isNumber || "/._-+@~%#=".contains($0) }
        let names = path.split(separator: "/").count
        let isAPI = Self.apis.contains { path.hasPrefix($0) } && !path.contains(".")
        return names < 2 || isAPI ? 0 : path.count
    }

    /// The range of the first occurrence of a text.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
