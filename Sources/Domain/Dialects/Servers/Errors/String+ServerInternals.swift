import ChatterdBasics

// The texts are read by scalars: a character may be as long as the text.

extension String {
    /// The text without internals of a model server's machine: tracebacks, positions in source files and absolute paths. The last line
    /// of a traceback stays, because it names the failure. Paths of known APIs stay.
    var withoutServerInternals: String {
        var kept: [Substring] = []
        var traceback = false
        var lastLine: Substring?
        for line in unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Substring.init) {
            if traceback {
                if !line.unicodeScalars.allSatisfy(\.properties.isWhitespace) { lastLine = line }
            } else if let mark = line.firstRange(of: "Traceback (most recent call last)") {
                traceback = true
                kept.append(line[..<mark.lowerBound])
            } else {
                kept.append(line)
            }
        }
        if let lastLine, lastLine.unicodeScalars.first?.properties.isWhitespace == false { kept.append(lastLine) }
        let text = kept.joined(separator: "\n").withoutSourcePositions.withoutPaths
        return text == self ? self : text.trimmed
    }

    /// The text without Python's source positions: `File "…", line N, in name` becomes "…".
    private var withoutSourcePositions: String {
        var text = ""
        var rest = self[...]
        while let start = rest.firstRange(of: "File \"") {
            text += rest[..<start.lowerBound]
            rest = rest[start.upperBound...]
            guard let end = rest.unicodeScalars.firstIndex(of: "\"") else { return text + "…" }
            rest = rest[rest.unicodeScalars.index(after: end)...]
            if rest.hasPrefix(", line ") {
                rest = Substring(rest.unicodeScalars.dropFirst(7).drop { $0.properties.numericType != nil })
            }
            if rest.hasPrefix(", in ") {
                rest = Substring(
                    rest.unicodeScalars.dropFirst(5).drop {
                        !$0.properties.isWhitespace && !",:\"".unicodeScalars.contains($0)
                    })
            }
            text += "…"
        }
        return text + rest
    }

    /// The text without absolute paths of two or more names, of Unix or Windows; each becomes "…".
    private var withoutPaths: String {
        var paths = PathScanner(Array(unicodeScalars))
        var text = String.UnicodeScalarView()
        var index = 0
        while index < paths.scalars.count {
            let length = paths.lengthOfPath(at: index)
            if length > 0 {
                text.append("…")
                index += length
            } else {
                text.append(paths.scalars[index])
                index += 1
            }
        }
        return String(text)
    }

    private var trimmed: String {
        let head = unicodeScalars.drop(while: \.properties.isWhitespace)
        return head.lastIndex { !$0.properties.isWhitespace }.map { String(head[...$0]) } ?? ""
    }
}

/// Finds paths in a text, in a time that is linear in its length.
private struct PathScanner {
    let scalars: [Unicode.Scalar]
    /// The end of the run of characters of paths that was found last, and the last dot in it.
    private var end = 0
    private var lastDot = -1

    /// The starts of known API paths.
    private static let apis = ["/v1", "/api/", "/chat/", "/completions", "/inference/", "/openai/"].map {
        Array($0.unicodeScalars)
    }

    init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
    }

    /// The length of the path that begins at an index, in scalars; 0 without a path.
    mutating func lengthOfPath(at index: Int) -> Int {
        guard opensWord(at: index) else { return 0 }
        if scalars[index].isASCII, scalars[index].properties.isAlphabetic, has(":\\", at: index + 1) {
            let end = scalars[index...].firstIndex {
                $0.properties.isWhitespace || "\"'<>|,;)".unicodeScalars.contains($0)
            }
            return (end ?? scalars.count) - index
        }
        guard has("/", at: index), !has("//", at: index) || has("///", at: index) else { return 0 }
        findEnd(of: index)
        let path = scalars[index..<end]
        guard let name = path.firstIndex(where: { $0 != "/" }),
            let slash = path[name...].firstIndex(of: "/"), path[slash...].contains(where: { $0 != "/" })
        else { return 0 }
        let isAPI = lastDot < index && Self.apis.contains { path.starts(with: $0) }
        return isAPI ? 0 : path.count
    }

    /// Whether a path can start at an index. A slash within a URL or between two words starts no path.
    private func opensWord(at index: Int) -> Bool {
        guard index > 0 else { return true }
        let before = scalars[index - 1]
        return !before.isLetterOrNumber && !"/\\._-…".unicodeScalars.contains(before)
    }

    private func has(_ text: String, at index: Int) -> Bool {
        index <= scalars.count && scalars[index...].starts(with: text.unicodeScalars)
    }

    /// Finds the end of the path at an index, unless the index is in the run that was found last.
    private mutating func findEnd(of index: Int) {
        guard index >= end else { return }
        end = index
        lastDot = -1
        while end < scalars.count, scalars[end].isLetterOrNumber || "/._-+@~%#=".unicodeScalars.contains(scalars[end]) {
            if scalars[end] == "." { lastDot = end }
            end += 1
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is a letter or a number, or continues one.
    fileprivate var isLetterOrNumber: Bool {
        properties.isAlphabetic || properties.numericType != nil || properties.isGraphemeExtend
            || properties.generalCategory == .spacingMark || self == "\u{200D}"
    }
}
