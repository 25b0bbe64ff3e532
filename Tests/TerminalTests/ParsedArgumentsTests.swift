import ChatterClient
import ChatterdBasics
import Testing

@testable import ChatterdTerminal

struct ParsedArgumentsTests {
    private func command(_ arguments: String...) throws -> TerminalCommand {
        try TerminalCommand(ParsedArguments(arguments))
    }

    @Test func optionsMayStandAnywhereAfterOrBeforeTheCommand() throws {
        var options = TerminalCommand.AskOptions(text: "Why not?", conversation: "trip", model: "m")
        options.isJSON = true
        for arguments in [
            ["ask", "-m", "m", "--json", "-c", "trip", "Why", "not?"],
            ["ask", "Why", "not?", "--model=m", "--json", "--conversation=trip"],
            ["-m", "m", "ask", "--json", "--conversation", "trip", "Why not?"],
        ] {
            #expect(try TerminalCommand(ParsedArguments(arguments)) == .ask(options))
        }
        #expect(try command("ask", "--", "--json") == .ask(TerminalCommand.AskOptions(text: "--json")))
        #expect(try command("ask", "-") == .ask(TerminalCommand.AskOptions(text: "-")))
    }

    @Test func commandsAreRead() throws {
        #expect(try command() == .converse(.init()))
        #expect(
            try command("-c", "trip", "-s", "Be brief.") == .converse(.init(conversation: "trip", system: "Be brief.")))
        #expect(try command("list", "--archived", "-n", "5") == .list(archived: true, limit: 5, .table))
        #expect(try command("list", "--names") == .list(archived: false, limit: 20, .names))
        #expect(try command("search", "fig", "tree", "--json") == .search("fig tree", limit: 20, .json))
        #expect(try command("watch", "trip") == .watch("trip", last: 10))
        #expect(try command("import", "-", "trip") == .importFile("-", name: "trip"))
        #expect(try command("servers") == .servers(.list, json: false))
        #expect(try command("servers", "test", "gpu", "-m", "m") == .servers(.test("gpu", model: "m"), json: false))
        #expect(
            try command("keys", "rotate", "5a", "--overlap", "2h")
                == .keys(.rotate("5a", overlap: .seconds(7_200)), json: false))
        var properties = KeyProperties(app: "shop")
        properties.scopes = ["chat", "read"]
        properties.expiresIn = 2_592_000
        properties.tokensPerDay = 7
        #expect(
            try command(
                "keys", "create", "--for", "shop", "--scopes", "chat,read", "--expires", "30d", "--tokens-per-day", "7")
                == .keys(.create(properties), json: false))
        #expect(try command("completions", "fish") == .completions(.fish))
        #expect(try command("help") == .help(nil))
        #expect(try command("--help") == .help(nil))
        #expect(try command("help", "ask") == .help(CommandTable.entry("ask")))
        #expect(try command("ask", "-h") == .help(CommandTable.entry("ask")))
    }

    @Test(arguments: [
        ["no"], ["--no"], ["ask", "--limit", "3"], ["ask", "--model"], ["ask", "--json=1"], ["list", "x"],
        ["list", "-n", "x"],
        ["list", "-n", "0"], ["search"], ["watch"], ["watch", "a", "--last", "201"], ["export", "a", "b"], ["import"],
        ["servers", "add", "x", "y"], ["servers", "no"], ["keys", "create"], ["keys", "revoke"],
        ["keys", "rotate", "a", "--overlap", "2"], ["completions"], ["completions", "sh"], ["help", "no"],
        ["ask", "-c", "a", "--delete", "x"], ["--system", "a", "list"],
    ]) func mistakesAreRefused(_ arguments: [String]) {
        #expect(throws: UsageError.self, "\(arguments)") { try TerminalCommand(ParsedArguments(arguments)) }
    }

    @Test func namesOfOptionsAreUniqueInEachCommand() {
        for entry in CommandTable.entries + [CommandTable.conversation] {
            let options = entry.options + CommandOption.common
            let names = options.map(\.name) + options.compactMap(\.short)
            #expect(Set(names).count == names.count, "\(entry.name)")
        }
    }

    @Test func helpHasEachCommandOptionAndExitCode() {
        let program = CommandHelp.program
        for entry in CommandTable.entries {
            #expect(program.contains("chatter \(entry.name)"))
            let text = CommandHelp.text(on: entry)
            for option in entry.options {
                #expect(text.contains(option.name) && text.contains(option.summary))
            }
        }
        for code in ExitCode.allCases {
            #expect(program.contains("  \(code.rawValue) ") && program.contains(code.meaning))
        }
        #expect(program.split(separator: "\n").allSatisfy { $0.count <= 130 })
    }

    @Test(arguments: [Shell.bash, .zsh, .fish]) func completionsHaveEachCommandAndOption(_ shell: Shell) {
        let script = shell.completions
        for entry in CommandTable.entries {
            #expect(script.contains(entry.name))
            for option in entry.options {
                #expect(script.contains(shell == .fish ? " -l \(option.name.dropFirst(2))" : option.name))
            }
        }
    }
}
