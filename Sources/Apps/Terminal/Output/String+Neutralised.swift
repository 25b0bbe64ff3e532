extension String {
    /// The text without characters that act on a terminal or change the direction of writing, apart from tabs and line ends.
    var neutralised: String {
        guard unicodeScalars.contains(where: \.actsOnTerminals) else { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars where scalar != "\r" {
            result.append(scalar.actsOnTerminals ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }

    /// JSON in which the characters that `neutralised` replaces are escaped, which keeps its value.
    var escapedJSON: String {
        guard unicodeScalars.contains(where: \.actsOnTerminals) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if scalar.actsOnTerminals {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether a terminal may take the character for a command: C0 but tab and line end, DEL, C1. Whether it changes the direction of
    /// the text behind it: the embeddings, overrides and isolates of Unicode Standard Annex 9.
    var actsOnTerminals: Bool {
        switch value {
        case 0x09, 0x0A: false
        case 0x00...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
