import ChatterdConfiguration
import Testing

/// docs/configuration.md against the table of settings.
@Suite(.timeLimit(.minutes(30))) struct ConfigurationDocumentTests {
    private let text: String

    init() throws {
        let root = #filePath.components(before: "/Tests/")
        text = try ConfigurationFile.read(root + "/docs/configuration.md").get()
    }

    private func row(_ setting: Setting) -> String {
        let entry = setting.entry
        let standard =
            switch entry.standard {
            case .value(let text): "`\(text)`"
            case .absent(let words): words
            }
        return "| `\(setting.name)` | \(standard) | \(entry.unit) | \(entry.bounds ?? "") | \(entry.meaning) |"
    }

    @Test(arguments: Setting.Group.allCases)
    func everyVariableIsInTheTableOfItsGroup(_ group: Setting.Group) {
        let section = text.components(after: "\n## \(group.rawValue)\n").components(before: "\n## ")
        let rows = section.split(separator: "\n").map(String.init).filter { row in
            row.hasPrefix("| `") && row.dropFirst(3).first?.isUppercase == true
        }
        let expected = Setting.allCases.filter { $0.entry.group == group }.map(row)
        #expect(rows == expected, "the rows should be:\n\(expected.joined(separator: "\n"))")
    }

    @Test func documentNamesNoUnknownVariable() {
        let known = Set(Setting.allCases.flatMap { [$0.name, $0.fileName] })
        let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }
        for word in words
        where word.hasPrefix("CHATTERD_") && word != "CHATTERD_" || word.hasSuffix("_URL")
            || word.hasSuffix("_URL_FILE")
        {
            #expect(known.contains(String(word)), "\(word)")
        }
    }
}

extension String {
    fileprivate func components(before separator: String) -> String {
        firstRange(of: separator).map { String(self[..<$0.lowerBound]) } ?? self
    }

    fileprivate func components(after separator: String) -> String {
        firstRange(of: separator).map { String(self[$0.upperBound...]) } ?? ""
    }
}
