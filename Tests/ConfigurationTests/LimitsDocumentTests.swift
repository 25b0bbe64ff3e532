import ChatterdConfiguration
import Testing

/// docs/limits.md against the table of settings.
@Suite(.timeLimit(.minutes(30))) struct LimitsDocumentTests {
    private let text: String

    init() throws {
        let root = #filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)]
        text = try ConfigurationFile.read(root + "/docs/limits.md").get()
    }

    @Test func everyLimitIsListed() {
        for setting in Setting.allCases where setting.entry.isLimit {
            #expect(text.contains("`\(setting.name)`"), "\(setting.name)")
        }
    }

    @Test func everyListedSettingExists() {
        let known = Set(Setting.allCases.map(\.name))
        for word in text.split(whereSeparator: { !($0.isLetter || $0 == "_") }) where word.hasPrefix("CHATTERD_") {
            #expect(known.contains(String(word)), "\(word)")
        }
    }
}
