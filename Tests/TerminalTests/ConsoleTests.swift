import ChatterClient
import ChatterdBasics
import Testing

@testable import ChatterdTerminal

/// What reaches the terminal of texts that others have written.
struct ConsoleTests {
    /// Sets the title of the window, writes to the clipboard, changes the direction, and begins an escape sequence in one character.
    private static let hostile = "\u{1B}]0;title\u{7}\u{1B}]52;c;cHduZWQ=\u{7}\u{202E}\u{2067}\u{9B}31m"

    /// The output of a console, a terminal or a pipe.
    private func output(isTerminal: Bool = true, _ write: (Console) -> Void) -> String {
        let written = Lock("")
        let console = Console(
            isTerminal: isTerminal, hasColours: false, output: { text in written.withLock { $0 += text } },
            errors: { text in written.withLock { $0 += text } })
        write(console)
        return written.withLock { $0 }
    }

    @Test func textBetweenLiteralsIsNeutralised() {
        let name = Self.hostile
        let text = output { $0.writeLine("The conversation uses \(name).", .dim) }
        #expect(text == "The conversation uses \(Self.hostile.neutralised).\n")
        #expect(!text.unicodeScalars.contains { $0.actsOnTerminals })
        #expect(output { $0.note(name) } == name.neutralised + "\n")
        #expect(output { $0.write(foreign: name) } == name.neutralised)
        #expect(output(isTerminal: false) { $0.write(foreign: name) } == name)
    }

    @Test func jsonOnATerminalKeepsItsValueWithoutControlCharacters() {
        let value = JSONValue.object(["model": .string(Self.hostile), "text": .string("é\tline\n")])
        let text = output { $0.write(json: value.text + "\n") }
        #expect(!text.unicodeScalars.contains { $0.actsOnTerminals })
        #expect(text.contains("\\u202e") && text.contains("\\u009b"))
        #expect(JSONValue(parsing: Array(text.utf8)) == value)
        #expect(output(isTerminal: false) { $0.write(json: value.text) } == value.text)
    }

    @Test func jsonOfAnAnswerIsEscapedToo() {
        let text = output { console in
            let printer = JSONPrinter(console, conversation: Self.hostile)
            for event: ReplyEvent in [
                .started(ReplyID("a")), .text(Self.hostile), .finished(ReplyStatistics(model: Self.hostile)),
            ] {
                printer.show(event)
            }
        }
        #expect(text.split(separator: "\n").count == 3)
        #expect(!text.unicodeScalars.contains { $0.actsOnTerminals })
    }

    @Test func piecesMayEndWithinACharacter() {
        let bytes = Array("aé\u{9B}\u{202E}世👩z".utf8) + [0xFF, 0xC3]
        let whole = String(decoding: bytes, as: UTF8.self)
        for size in 1...bytes.count {
            var text = PiecewiseText()
            var found = ""
            for start in stride(from: 0, to: bytes.count, by: size) {
                found += text.append(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(found + text.finish() == whole, "\(size)")
        }
    }

    @Test(arguments: [
        ("trip", "trip"), ("a/b:c@d.e_f-g", "a/b:c@d.e_f-g"), ("two words", "'two words'"), ("", "''"),
        ("x$(touch file)", "'x$(touch file)'"), ("it's `id`", "'it'\\''s `id`'"), ("~", "'~'"), ("é", "'é'"),
    ]) func wordToCopyIsQuoted(_ text: String, _ word: String) {
        #expect(ShellWord.quoted(text) == word)
    }
}
