/// The words of SQL in lower case, without comments and the bodies of functions. Semicolons, commas and parentheses are words too.
struct SQLWords {
    private(set) var all: [String] = []

    init(_ sql: String) {
        var isInBody = false
        for line in sql.split(separator: "\n") {
            let code = line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
            // Bodies of functions are between lines that contain $$.
            let parts = code.split(separator: "$$", omittingEmptySubsequences: false)
            for (number, part) in parts.enumerated() {
                if number > 0 {
                    isInBody.toggle()
                }
                if !isInBody {
                    add(part)
                }
            }
        }
    }

    private mutating func add(_ text: Substring) {
        var word = ""
        for character in text.lowercased() {
            if character.isLetter || character.isNumber || character == "_" {
                word.append(character)
                continue
            }
            if !word.isEmpty {
                all.append(word)
                word = ""
            }
            if ";,()".contains(character) {
                all.append(String(character))
            }
        }
        if !word.isEmpty {
            all.append(word)
        }
    }

    /// The statements, as words.
    var statements: [ArraySlice<String>] { all.split(separator: ";") }
}
