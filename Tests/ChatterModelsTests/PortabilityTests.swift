import Foundation
import Testing

/// What the libraries import, by their sources: they are for systems other than Linux too.
struct PortabilityTests {
    private static let folders = [
        "Kit/Basics", "Kit/HTTP", "Apps/ChatterClient", "Apps/ChatterModels", "Apps/ChatterMacros",
        "Apps/MacroExpansion", "Apps/MacroPlugin", "Apps/ChatterFoundationModels", "Apps/ChatterSwiftAI",
        "Apps/ChatterLanguageModelSession",
    ]
    /// The conditions for modules that only some systems have.
    private static let conditions: [String: [String]] = [
        "Glibc": ["#if canImport(Glibc)", "#if os(Linux)"], "Musl": ["#if canImport(Musl)"],
        "Darwin": ["#if canImport(Darwin)"], "ChatterdSockets": ["#if os(Linux)"],
        "ChatterdHTTPClient": ["#if os(Linux)"], "CChatterdSystem": ["#if os(Linux)"],
        "CChatterdOpenSSL": ["#if os(Linux)"], "FoundationModels": ["#if canImport(FoundationModels)"],
        "SwiftUI": ["#if canImport(SwiftUI)"], "Combine": ["#if canImport(Combine)"],
    ]

    /// Calls `body` with each line of the sources, and the conditions around it.
    private func forEachLine(_ body: (_ place: String, _ line: String, _ conditions: [String]) -> Void) throws {
        let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var files = 0
        for folder in Self.folders {
            let root = top.appending(path: "Sources/\(folder)")
            let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
            for path in paths {
                files += 1
                var conditions: [String] = []
                let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                    if line.hasPrefix("#endif") || line.hasPrefix("#else") {
                        let condition = conditions.popLast() ?? ""
                        if line == "#else" { conditions.append("#else of " + condition) }
                        if line.hasPrefix("#elseif") { conditions.append("#if" + line.dropFirst("#elseif".count)) }
                    } else if line.hasPrefix("#if") {
                        conditions.append(line)
                    }
                    body("\(folder)/\(path)", line, conditions)
                }
            }
        }
        #expect(files > 100)
    }

    @Test func modulesOfSomeSystemsAreImportedUnderTheirCondition() throws {
        try forEachLine { place, line, conditions in
            guard let range = line.range(of: "import "), !line.hasPrefix("//") else { return }
            let module = line[range.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            guard let needed = Self.conditions[String(module)] else { return }
            #expect(
                !Set(needed).isDisjoint(with: conditions.map { $0.components(separatedBy: " &&")[0] }),
                "\(place): \(line)")
        }
    }

    /// Foundation's networking on Linux holds events back until the whole body has arrived.
    @Test func noNetworkingOfFoundationOnLinux() throws {
        try forEachLine { place, line, conditions in
            #expect(!line.contains("FoundationNetworking"), "\(place): \(line)")
            guard line.contains("URLSession") || line.contains("URLRequest"), !line.hasPrefix("//") else { return }
            let isForOthers = conditions.contains {
                ["#if canImport(Darwin)", "#if !os(Linux)", "#else of #if os(Linux)"].contains($0)
            }
            #expect(isForOthers, "\(place): \(line)")
        }
    }
}
