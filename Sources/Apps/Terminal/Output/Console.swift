import Glibc

/// Standard output and standard error of the program. Each call writes at once.
struct Console: Sendable {
    /// Whether standard output is a terminal.
    let isTerminal: Bool
    /// Whether output may have colours.
    let hasColours: Bool
    private let output: @Sendable (String) -> Void
    private let errors: @Sendable (String) -> Void

    /// A style of text on a terminal.
    enum Style: String {
        case dim = "2"
        case bold = "1"
        case red = "31"
        case yellow = "33"
    }

    /// A console that writes with functions.
    init(
        isTerminal: Bool, hasColours: Bool, output: @escaping @Sendable (String) -> Void,
        errors: @escaping @Sendable (String) -> Void
    ) {
        self.isTerminal = isTerminal
        self.hasColours = hasColours
        self.output = output
        self.errors = errors
    }

    /// The console of the process. The program ends, like others in a pipe, when the reader of its output has left.
    static func live(hasNoColor: Bool) -> Console {
        let isTerminal = isatty(1) == 1
        return Console(
            isTerminal: isTerminal, hasColours: isTerminal && !hasNoColor,
            output: { text in
                guard writeAll(text, to: 1) else { exit(128 + SIGPIPE) }
            },
            errors: { text in _ = writeAll(text, to: 2) })
    }

    /// Writes text of a model or a user to standard output. On a terminal control characters are replaced, so that no text can move
    /// the cursor, change colours or reach the clipboard.
    func write(foreign text: String, _ style: Style? = nil) {
        output(styled(isTerminal ? text.neutralised : text, style))
    }

    /// Writes a line of the program to standard output.
    func writeLine(_ line: ConsoleText = "", _ style: Style? = nil) { output(styled(line.text, style) + "\n") }

    /// Writes JSON to standard output. On a terminal control characters are escaped.
    func write(json: String) { output(isTerminal ? json.escapedJSON : json) }

    /// Writes a line to standard error, without control characters.
    func note(_ text: String, _ style: Style? = nil) { errors(styled(text.neutralised, style) + "\n") }

    /// Writes an error to standard error.
    func report(_ text: String) { note("chatter: \(text)", .red) }

    private func styled(_ text: String, _ style: Style?) -> String {
        guard hasColours, let style, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    private static func writeAll(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
                if count > 0 {
                    sent += count
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
