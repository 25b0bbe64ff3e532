import Foundation
import Testing

@testable import ChatterdTerminal

struct VersionTests {
    @Test func programAndDocumentsHaveTheVersionOfTheChangelog() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        func text(_ path: String) throws -> String { try String(contentsOfFile: root + path, encoding: .utf8) }
        let section = try #require(text("/CHANGELOG.md").firstMatch(of: /\n## (\d+\.\d+\.\d+)/))
        let version = String(section.1)
        #expect(TerminalProgram.version == version)
        #expect(try text("/docs/swift.md").contains("from: \"\(version)\""))
        for path in ["/docs/api.md", "/docs/operating.md"] {
            #expect(try text(path).contains("\"chatterd \(version)\""), "\(path)")
        }
        #expect(
            try text("/Sources/Program/Server/Application/Version.swift").contains("current = \"\(version)\""))
    }
}
