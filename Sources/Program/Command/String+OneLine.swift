extension String {
    /// A text of another program as a part of a line: without characters that move the cursor, begin a line or change the direction of
    /// writing, and cut at a limit in Unicode scalars.
    func oneLine(upTo limit: Int) -> String {
        var line = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: line.append(" ")
            default: line.append(scalar)
            }
        }
        if unicodeScalars.dropFirst(limit).first != nil { line.append("…") }
        while line.last == " " { line.removeLast() }
        return String(line)
    }
}
