import ChatterdBasics
import ChatterdConfiguration
import ChatterdServer
import Testing

@testable import ChatterdCommand

@Suite(.timeLimit(.minutes(30))) struct CommandTests {
    @Test(arguments: [
        (["serve"], Command.serve(isDevelopment: false)), (["serve", "--dev"], .serve(isDevelopment: true)),
        (["migrate"], .migrate(MigrateRequest())), (["doctor"], .doctor(DoctorRequest())),
        (["health"], .health(isReadiness: false)), (["health", "--ready"], .health(isReadiness: true)),
        (["tools", "list"], .tools(.list)), (["tools", "test", "f"], .tools(.test(name: "f", arguments: "{}"))),
        (["tools", "test", "f", #"{"n":1}"#], .tools(.test(name: "f", arguments: #"{"n":1}"#))),
        (["version"], .version),
        (["--version"], .version), (["help"], .help(.commands)), (["--help"], .help(.commands)),
        (["-h"], .help(.commands)), (["serve", "--help"], .help(.commands)), (["help", "limits"], .help(.limits)),
        (["help", "variables"], .help(.variables)),
    ])
    func argumentsMakeACommand(_ arguments: [String], command: Command) throws {
        #expect(try Command(arguments: arguments) == command)
    }

    @Test func optionsOfMigrateAreRead() throws {
        var request = MigrateRequest()
        request.isDryRun = true
        #expect(try Command(arguments: ["migrate", "--dry-run"]) == .migrate(request))
        request.contracts = true
        #expect(try Command(arguments: ["migrate", "--contract", "--dry-run"]) == .migrate(request))
    }

    @Test func optionsOfDoctorAreRead() throws {
        guard case .doctor(let request) = try Command(arguments: ["doctor", "--json", "--chat"]) else {
            Issue.record("another command")
            return
        }
        #expect(request.isJSON && request.asksModels && request.through == nil)
        let words = ["doctor", "--through=https://chat.example/base/", "--model", "tiny", "--key-file", "/k"]
        guard case .doctor(let measuring) = try Command(arguments: words) else {
            Issue.record("another command")
            return
        }
        #expect(!measuring.isJSON && !measuring.asksModels)
        #expect(measuring.through?.url.description == "https://chat.example/base")
        #expect(measuring.through?.model == "tiny" && measuring.through?.keyFile == "/k")
    }

    @Test(arguments: [
        ["doctor", "now"], ["doctor", "--through"], ["doctor", "--through", "chat.example"],
        ["doctor", "--model", "tiny"],
        ["doctor", "--key-file", "/k"], ["doctor", "--prod"],
        ["doctor", "--through", "https://ada:sesame@chat.example"],
    ])
    func wrongOptionsOfDoctorAreRefused(_ arguments: [String]) {
        let error = #expect(throws: UsageError.self) { try Command(arguments: arguments) }
        #expect(error?.description.contains("sesame") == false)
    }

    @Test(arguments: [
        [], ["srve"], [""], ["serve", "--prod"], ["serve", "--dev", "8080"], ["migrate", "now"],
        ["migrate", "--dry-run", "x"], ["health", "--dev"],
        ["tools"], ["tools", "run"], ["tools", "list", "f"], ["tools", "test"], ["tools", "test", "f", "{}", "x"],
        ["help", "me"], ["help", "limits", "variables"], ["--dev"], ["version", "1"], ["SERVE"],
    ])
    func wrongArgumentsAreRefused(_ arguments: [String]) {
        #expect(throws: UsageError.self) { try Command(arguments: arguments) }
    }

    @Test func wrongCommandIsExplainedOnStandardError() async {
        let captured = CapturedCommand()
        #expect(await captured.run("srve") == 2)
        #expect(captured.errorText.hasPrefix("chatterd: there is no command \"srve\"\n\nusage: chatterd <command>"))
        #expect(captured.outputText.isEmpty)
    }

    @Test func wrongConfigurationFailsBeforeServing() async {
        let captured = CapturedCommand()
        #expect(await captured.run("serve", environment: ["CHATTERD_LISTEN": "x", "CHATTERD_ECO": "1"]) == 1)
        #expect(captured.errorText.split(separator: "\n").count == 4, "a heading, and three problems")
        #expect(captured.served.withLock { $0.isEmpty })
    }

    @Test func serveGetsTheConfiguration() async {
        let captured = CapturedCommand()
        #expect(await captured.run("serve", "--dev", environment: ["CHATTERD_LISTEN": ":1"]) == 0)
        #expect(await captured.run("serve", environment: ["PGHOST": "h"]) == 0)
        #expect(captured.served.withLock { $0.map(\.store.database) } == [.privateCluster, .libpqEnvironment])
    }

    @Test func exitCodeIsThatOfTheAction() async {
        #expect(await CapturedCommand().run("migrate", environment: ["PGHOST": "h"]) == 1)
    }

    @Test func versionIsOneLine() async {
        let captured = CapturedCommand()
        #expect(await captured.run("version") == 0)
        #expect(captured.outputText == "chatterd \(Version.current)\n")
    }

    @Test func helpListsEveryVariableAndEveryLimit() async {
        let (variables, limits) = (CapturedCommand(), CapturedCommand())
        #expect(await variables.run("help", "variables") == 0)
        #expect(await limits.run("help", "limits") == 0)
        for setting in Setting.allCases {
            let line = "  \(setting.name)  (\(setting.entry.unit), default \(setting.entry.standardText)"
            #expect(variables.outputText.contains(line))
            #expect(limits.outputText.contains(line) == setting.entry.isLimit)
        }
    }

    @Test func linesOfHelpFitATerminal() async {
        let captured = CapturedCommand()
        _ = await captured.run("help", "variables")
        for line in captured.outputText.split(separator: "\n") {
            #expect(line.count <= 120, "\(line)")
        }
    }

    @Test func processHasAnEnvironment() {
        #expect(CommandRunner.processEnvironment["PATH"]?.isEmpty == false)
    }
}
