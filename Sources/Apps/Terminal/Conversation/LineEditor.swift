import CChatterdEdit
import ChatterdBasics
import Glibc

/// Reads lines from the terminal with editing and a history, by libedit, on the first thread of the process.
final class LineEditor: Sendable {
    /// The number of lines in the history.
    private static let historyLimit: Int32 = 1_000

    /// The input of the user.
    enum Input: Equatable {
        case line(String)
        /// Ctrl-C: the line is discarded.
        case interrupt
        /// Ctrl-D, or the end of the input.
        case end
    }

    private let editor: Confined<OpaquePointer>
    private let historyPath: String?

    /// Creates the editor of the terminal, which exists until the process exits; `nil` without memory or without a terminal.
    init?(historyPath: String?) async {
        let created = await FirstThread.shared.run {
            cedit_create("chatter", Self.historyLimit).map { editor in
                if let historyPath {
                    _ = cedit_load(editor, historyPath)
                }
                return Confined(editor, to: FirstThread.shared)
            }
        }
        guard let created else { return nil }
        editor = created
        self.historyPath = historyPath
    }

    /// Reads a line.
    ///
    /// - Parameter initial: text that can be edited, of any number of lines; other control characters become spaces.
    /// - Returns: one line, or more if text of more lines was pasted or given.
    func read(prompt: String, initial: String = "") async -> Input {
        let initial = String(
            String.UnicodeScalarView(
                initial.unicodeScalars.map {
                    ["\n", "\t"].contains($0) || $0.value >= 0x20 && !$0.actsOnTerminals ? $0 : " "
                }))
        return await FirstThread.shared.run { [editor] in
            var line: UnsafePointer<CChar>?
            var length = 0
            switch cedit_read(editor.value, prompt, initial, &line, &length) {
            case Int32(cedit_line):
                let bytes = UnsafeBufferPointer(start: line, count: length).map { UInt8(bitPattern: $0) }
                return .line(String(decoding: bytes, as: UTF8.self))
            case Int32(cedit_interrupted): return .interrupt
            default: return .end
            }
        }
    }

    /// Adds a line to the history and its file, which only the user may read.
    func remember(_ line: String) async {
        await FirstThread.shared.run { [editor, historyPath] in
            cedit_remember(editor.value, line)
            guard let historyPath else { return }
            var path = ""
            for part in historyPath.split(separator: "/").dropLast() {
                path += "/\(part)"
                mkdir(path, 0o700)
            }
            let mask = umask(0o077)
            // Without a history the program works as well.
            _ = cedit_save(editor.value, historyPath)
            umask(mask)
        }
    }
}
