import Foundation
import Testing

/// The files of Tests/SeedSamples contain the proposal's blocks as they are printed.
struct SeedTextTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    /// What no library can compile. Tests/Specifications/seed-003.md says why.
    private static let notSwift = [1, 2, 11, 14, 15]

    /// The blocks in order, each with what is said about it.
    private func blocks() throws -> [(remark: String, code: String)] {
        let text = try String(contentsOf: Self.tests.appending(path: "Specifications/seed-003.md"), encoding: .utf8)
        return text.components(separatedBy: "## Block ").dropFirst().map { section in
            let parts = section.components(separatedBy: "```")
            let remark = parts[0].drop { $0 != "\n" }.trimmingCharacters(in: .whitespacesAndNewlines)
            return (remark, String(parts[1].trimmingPrefix("swift\n")))
        }
    }

    /// The printed parts of a file, each between two marks.
    private func printed(_ number: Int) throws -> String {
        let name = "SeedSamples/Block\(number < 10 ? "0" : "")\(number).swift"
        let text = try String(contentsOf: Self.tests.appending(path: name), encoding: .utf8)
        return text.components(separatedBy: "// Printed:\n").dropFirst().compactMap {
            $0.components(separatedBy: "// End.\n").first
        }.joined()
    }

    @Test func eachBlockIsCompiledAsPrintedOrHasAReason() throws {
        let blocks = try blocks()
        #expect(blocks.count == 22)
        for (index, block) in blocks.enumerated() {
            if Self.notSwift.contains(index + 1) {
                #expect(block.remark.hasPrefix("Not Swift"), "block \(index + 1)")
            } else {
                #expect(try printed(index + 1) == block.code, "block \(index + 1)")
                #expect(block.remark.isEmpty, "block \(index + 1)")
            }
        }
    }
}
