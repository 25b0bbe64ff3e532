import Foundation
import Testing

/// docs/access.md against the statements that touch rows of several owners.
@Suite(.timeLimit(.minutes(30))) struct CrossingStatementsTests {
    /// The tables with row-level security, and the fragments of SQL that read them.
    private static let tables = [
        "chatts", "chatterd_conversations", "chatterd_journal", "chatterd_keys", "chatterd_signals", "chatterd_changes",
        "chatterd_attachments", "chatterd_attachment_uses", "chatterd_write_sheet",
        "chatterd_turn_sheets", "isStopped", "isAbandoned", "piece)", "unmade)",
    ]

    @Test func statementsThatCrossOwnersAreListed() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        let document = try String(contentsOfFile: root + "/docs/access.md", encoding: .utf8)
        let heading = try #require(document.firstRange(of: "## Two checks\n"))
        let section = document[heading.upperBound...].prefix { $0 != "#" }
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let listed = rows.flatMap { $0.split(separator: "|")[0].matches(of: #/`([a-z_]+)`/#).map { String($0.1) } }
        let crossing = try Self.statements(in: root + "/Sources").filter { !$0.isScoped && $0.touchesOwners }
        #expect(listed.sorted() == crossing.map(\.name).sorted())
    }

    private struct Found {
        let name: String
        let isScoped: Bool
        let touchesOwners: Bool
    }

    /// The statements of all sources: the text from each `Statement("name"` to the end of its SQL.
    private static func statements(in folder: String) throws -> [Found] {
        var found: [Found] = []
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: folder), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            let statements = source.matches(of: #/Statement\(\s*"([a-z_]+)",((?s:.*?))sql:(\s*"""(?s:.*?)"""|[^\n]*)/#)
            for match in statements {
                found.append(
                    Found(
                        name: String(match.1), isScoped: match.2.contains("after: .rowScope"),
                        touchesOwners: tables.contains { match.3.contains($0) }))
            }
        }
        #expect(found.count > 100)
        return found
    }
}
