import ChatterdMetrics
import Foundation
import Testing

/// docs/operating.md and the rules for alerts against the table of metrics.
@Suite struct MetricsDocumentTests {
    private let root = String(#filePath[..<(#filePath.range(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])

    /// The section about metrics.
    private func section() throws -> String {
        let text = try String(contentsOfFile: root + "/docs/operating.md", encoding: .utf8)
        let start = try #require(text.range(of: "\n## Metrics\n")).upperBound
        let end = try #require(text.range(of: "\n## ", range: start..<text.endIndex)).lowerBound
        return String(text[start..<end])
    }

    @Test func everyMetricIsInTheTable() throws {
        let expected = Metric.allCases.map(\.family).map { family in
            let kind =
                switch family.kind {
                case .counter: "counter"
                case .gauge: "gauge"
                case .histogram: "histogram"
                }
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.name)` | \(kind) | \(labels) | \(family.help) |"
        }
        let rows = try section().split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") }
        #expect(rows == expected, "the rows should be:\n\(expected.joined(separator: "\n"))")
    }

    @Test func everyNamedMetricExists() throws {
        let names = Set(
            Metric.allCases.map(\.family).flatMap { family in
                if case .histogram = family.kind {
                    return ["", "_bucket", "_sum", "_count"].map { family.name + $0 }
                }
                return [family.name]
            })
        let rules = try String(contentsOfFile: root + "/deploy/prometheus/alerts.yml", encoding: .utf8)
        for text in [try section(), rules] {
            let found = text.matches(of: /\b(chatterd|process)_[a-z_]+/).map { String($0.0) }
            #expect(found.count > 10)
            for name in found { #expect(names.contains(name), "\(name)") }
        }
    }
}
