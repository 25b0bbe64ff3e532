import ChatterdConfiguration
import Foundation
import Testing

/// The statements of docs/scale.md against those in the code.
@Suite(.timeLimit(.minutes(30))) struct ScaleDocumentTests {
    /// The groups of the statements that see the rows of one owner only.
    private static let scoped: Set = ["One conversation", "One owner", "One reply, by its id"]

    /// The group of each listed statement.
    private var listed: [String: String] = [:]
    /// Whether each statement in the code is sent after `row_scope`.
    private var isScoped: [String: Bool] = [:]
    private var repeated: [String] = []

    init() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        var group = ""
        for line in try ConfigurationFile.read(root + "/docs/scale.md").get().split(separator: "\n") {
            if line.hasPrefix("## ") { group = "" }
            if line.hasPrefix("### ") { group = String(line.dropFirst(4)) }
            guard !group.isEmpty, let cell = line.firstMatch(of: /^\| (`[a-z_`, ]+`) \|/) else { continue }
            for name in cell.1.matches(of: /`([a-z_]+)`/) {
                if listed.updateValue(group, forKey: String(name.1)) != nil { repeated.append(String(name.1)) }
            }
        }
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: root + "/Sources"), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            for statement in source.matches(of: /\bStatement\(\s*"([^"]+)"(,\s*after: \.rowScope)?/) {
                isScoped[String(statement.1)] = statement.2 != nil
            }
        }
    }

    @Test func everyStatementIsListedOnce() {
        #expect(isScoped.count > 100)
        #expect(isScoped.keys.filter { listed[$0] == nil }.sorted() == [])
        #expect(repeated == [])
    }

    @Test func everyListedStatementExists() {
        #expect(listed.keys.filter { isScoped[$0] == nil }.sorted() == [])
    }

    /// The database refuses a scoped statement the rows of other owners, so the groups are more than words.
    @Test func groupsOfOneOwnerHaveExactlyTheScopedStatements() {
        for (name, group) in listed {
            #expect(isScoped[name] == Self.scoped.contains(group), "\(name): \(group)")
        }
    }
}
