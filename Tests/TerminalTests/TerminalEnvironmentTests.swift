import ChatterClient
import ChatterdBasics
import Testing

@testable import ChatterdTerminal

struct TerminalEnvironmentTests {
    @Test func defaultsAreThoseOfTheDocument() throws {
        let settings = try TerminalEnvironment(["HOME": "/home/ada"])
        #expect(settings.url == "http://127.0.0.1:8080" && settings.credential == .app("terminal"))
        #expect(settings.model == nil && !settings.hasNoColor)
        #expect(settings.historyPath == "/home/ada/.local/state/chatter/history")
        #expect(settings.retries.start == .seconds(3) && settings.retries.resumption == .seconds(600))
    }

    @Test func variablesAndOptionsReplaceDefaults() throws {
        let variables = [
            "CHATTER_URL": "https://h", "CHATTER_KEY": "k", "CHATTER_APP": "a", "CHATTER_MODEL": "m", "NO_COLOR": "1",
            "CHATTER_RESUME_TIMEOUT": "2s", "XDG_STATE_HOME": "/state",
        ]
        let settings = try TerminalEnvironment(variables)
        #expect(settings.url == "https://h" && settings.credential == .bearer("k") && settings.model == "m")
        #expect(settings.hasNoColor && settings.historyPath == "/state/chatter/history")
        #expect(settings.retries.start == .seconds(2) && settings.retries.resumption == .seconds(2))
        let other = try TerminalEnvironment(variables, url: "http://o", app: "b")
        #expect(other.url == "http://o" && other.credential == .app("b"))
    }

    @Test func emptyVariablesCountAsUnsetButForTheHistory() throws {
        let settings = try TerminalEnvironment([
            "CHATTER_URL": "", "CHATTER_KEY": "", "NO_COLOR": "", "CHATTER_HISTORY": "",
        ])
        #expect(settings.url == TerminalEnvironment.defaultURL && settings.credential == .app("terminal"))
        #expect(!settings.hasNoColor && settings.historyPath == nil)
        #expect(throws: UsageError.self) { try TerminalEnvironment(["CHATTER_RESUME_TIMEOUT": "long"]) }
    }
}
