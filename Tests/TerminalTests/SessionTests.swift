import ChatterClient
import ChatterdBasics
import Testing

@testable import ChatterdTerminal

struct SessionTests {
    @Test(arguments: [
        ("", SessionCommand.none), ("  \t", .none), ("Hello", .prompt("Hello")),
        ("\n  Hello\n there \n", .prompt("  Hello\n there")), ("/bin/x\n-y", .prompt("/bin/x\n-y")),
        ("//etc", .prompt("/etc")), ("/model", .model(nil)), ("/model  m ", .model("m")),
        ("/system Be brief.", .system("Be brief.")),
        ("/new", .new), ("/list", .list), ("/open 2", .open("2")), ("/retry", .retry(model: nil)),
        ("/retry m", .retry(model: "m")),
        ("/edit", .edit), ("/history", .history), ("/servers", .servers), ("/help", .help), ("/quit", .quit),
    ]) func linesAreCommandsOrPrompts(_ line: String, _ command: SessionCommand) {
        #expect(SessionCommand(line) == command)
    }

    @Test(
        arguments: [
            (["one"], [.prompt("one")]), (["one\\", "two", "three"], [.prompt("one\ntwo"), .prompt("three")]),
            (["a\nb\\", "/new"], [.prompt("a\nb\\"), .new]), (["/system a\\", "b"], [.system("a\nb")]),
            (["/system x\ny"], [.system("x\ny")]), (["/new\nx"], [.prompt("/new\nx")]),
            (["\"\"\"one", " two\\", "\"\"\"", "three"], [.prompt("one\n two\\"), .prompt("three")]),
            (["\"\"\"one\"\"\"", "two"], [.prompt("one"), .prompt("two")]),
            ([" \"\"\"", "", "/quit", "\"\"\""], [.prompt("/quit")]), (["\"\"\"\"\"\""], [SessionCommand.none]),
            (["\"\"\"A docstring.\n\"\"\"\nx = 1"], [.prompt("\"\"\"A docstring.\n\"\"\"\nx = 1")]),
            (["// one\n//two"], [.prompt("// one\n//two")]), (["//one"], [.prompt("/one")]),
            (["say \"\"\"", "x"], [.prompt("say \"\"\""), .prompt("x")]),
        ] as [([String], [SessionCommand])]) func linesAreJoinedToCommands(
            _ lines: [String], _ commands: [SessionCommand]
        )
    {
        var input = SessionInput()
        var found: [SessionCommand] = []
        for line in lines {
            guard let command = input.add(line) else { continue }
            found.append(command)
            input = SessionInput()
        }
        #expect(found == commands && input.isEmpty)
    }

    @Test(arguments: ["/", "/no", "/Model", "/open", "/open  "]) func wrongCommandsAreExplained(_ line: String) {
        guard case .wrong(let text) = SessionCommand(line) else {
            Issue.record("\(line) is a command")
            return
        }
        #expect(!text.isEmpty)
    }

    @Test(arguments: [
        ("plain\ttext\n", "plain\ttext\n"), ("\u{1B}[2J\u{7}", "\u{FFFD}[2J\u{FFFD}"), ("a\r\nb", "a\nb"),
        ("\u{9B}31m\u{7F}", "\u{FFFD}31m\u{FFFD}"), ("a\u{202E}b\u{2066}c\u{2069}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"),
        ("\u{85}\u{9F}\u{A0}\u{202A}\u{2067}", "\u{FFFD}\u{FFFD}\u{A0}\u{FFFD}\u{FFFD}"),
        ("é 世界 👩\u{200D}👧", "é 世界 👩\u{200D}👧"),
    ]) func controlCharactersAreReplaced(_ text: String, _ printed: String) {
        #expect(text.neutralised == printed)
    }

    @Test func lastLineOfATextInPieces() {
        for pieces in [["a\nb\n{\"end\"", ":true}\n"], ["a\n", "{\"end\":true}", "\n"], ["{\"end\":true}"]] {
            var line = LastLine()
            for piece in pieces {
                line.append(Array(piece.utf8))
            }
            #expect(line.text == "{\"end\":true}")
        }
        var long = LastLine()
        long.append(Array(repeating: UInt8(ascii: "x"), count: 10_000))
        #expect(long.text.utf8.count == 400)
    }

    @Test func columnsOfATableAreAligned() {
        var table = Table()
        table.add("a", "bb", "c")
        table.add("aaa", "b", "")
        #expect(table.lines == ["a    bb  c", "aaa  b   "])
    }

    @Test func printerKeepsTextAndRemarksApart() {
        let written = Lock((output: "", errors: ""))
        let console = Console(
            isTerminal: false, hasColours: false, output: { text in written.withLock { $0.output += text } },
            errors: { text in written.withLock { $0.errors += text } })
        var printer = TextPrinter(console, showsThinking: false)
        let lost = ChatterError.connectionLost("Cut.")
        for event: ReplyEvent in [
            .connectionLost(lost, retryAfter: .milliseconds(250)), .started(ReplyID("a")), .thinking("hm"),
            .text("one "),
            .connectionLost(lost, retryAfter: .seconds(1)), .resumed, .text("two"), .reset, .text("three\n"),
            .finished(ReplyStatistics(model: "m")),
        ] {
            printer.show(event)
        }
        #expect(written.withLock(\.output) == "one twothree\n")
        #expect(
            written.withLock(\.errors)
                == """
                no connection; next try in 0.3 s: Cut.
                connection lost; resuming in 1.0 s: Cut.
                connection restored
                the answer begins again

                """)
    }

    @Test func answerThatEndsWithTheLineEndOfAnotherSystemGetsNoFurtherOne() {
        let written = Lock("")
        let console = Console(
            isTerminal: false, hasColours: false, output: { text in written.withLock { $0 += text } }, errors: { _ in })
        var printer = TextPrinter(console, showsThinking: false)
        printer.show(.text("one\r\n"))
        printer.show(.finished(ReplyStatistics(model: "m")))
        #expect(written.withLock { $0 } == "one\r\n")
    }

    @Test func eachErrorHasAnExitCode() {
        let server = ServerError(code: "c", message: "m", isRetryable: false)
        let codes: [(ChatterError, Int32)] = [
            (.invalidURL(""), 2), (.unreachable(""), 3), (.untrusted(""), 3), (.unauthorized(server), 4),
            (.busy(server), 5),
            (.modelFailed(server), 6), (.notFound(server), 7), (.rejected(server), 7), (.serverFailed(server), 8),
            (.malformed(""), 8), (.connectionLost(""), 9), (.cancelled, 130),
        ]
        for (error, code) in codes {
            #expect(ExitCode(error).rawValue == code, "\(error)")
        }
    }
}
