import ChatterdConfiguration
import Foundation
import Testing

/// docs/limits.md against the table of settings and the constants in the code.
@Suite(.timeLimit(.minutes(30))) struct LimitsDocumentTests {
    private let root: String
    private let text: String

    init() throws {
        root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
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

    /// `Type.member` and the names that follow it stand for members of a type, in the files that declare or extend it.
    @Test func everyListedConstantExists() throws {
        var sources: [String: String] = [:]
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: root + "/Sources"), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            let types = source.matches(of: /\b(?:struct|class|enum|protocol|actor|extension) ([A-Z][A-Za-z0-9]+)/).map {
                String($0.1)
            }
            for type in Set(types) {
                sources[type, default: ""] += source
            }
        }
        let names = text.matches(of: /`([A-Z][A-Za-z]+)\.([a-z][A-Za-z]+)`((?:, `[a-z][A-Za-z]+`)*)/)
        #expect(names.count > 60)
        for name in names {
            let source = sources[String(name.1)] ?? ""
            for member in [name.2] + name.3.split(whereSeparator: { ",` ".contains($0) }) {
                let declaration = try Regex("\\b(let|var|func|case) \(member)\\b")
                #expect(source.contains(declaration), "\(name.1).\(member)")
            }
        }
    }
}
