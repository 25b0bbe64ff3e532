import ChatterdMetrics
import Testing

/// The table of metrics against the rules for names of Prometheus and OpenMetrics.
@Suite struct MetricTableTests {
    @Test func namesAreUnique() {
        #expect(Set(Metric.allCases.map(\.family.name)).count == Metric.allCases.count)
    }

    @Test(arguments: Metric.allCases) func nameHasThePrefixAndTheUnit(_ metric: Metric) {
        let family = metric.family
        #expect(family.name.hasPrefix("chatterd_") || family.name.hasPrefix("process_"))
        #expect(family.name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 })
        #expect(family.name.hasSuffix("_total") == (family.kind == .counter))
        let name = family.kind == .counter ? String(family.name.dropLast("_total".count)) : family.name
        if family.unit != .count {
            #expect(name.hasSuffix("_\(family.unit.rawValue)"))
        } else {
            for unit in ["seconds", "bytes", "ratio"] { #expect(!name.hasSuffix("_\(unit)")) }
        }
        for suffix in ["_count", "_sum", "_bucket", "_created"] { #expect(!name.hasSuffix(suffix)) }
    }

    @Test(arguments: Metric.allCases) func helpIsASentenceOfOneLine(_ metric: Metric) {
        let help = metric.family.help
        #expect(help.hasSuffix(".") && help.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }

    @Test(arguments: Metric.allCases) func labelsAreAtMostFourWords(_ metric: Metric) {
        let labels = metric.family.labels
        #expect(labels.count <= 4 && Set(labels).count == labels.count && !labels.contains("le"))
        for label in labels {
            #expect(!label.isEmpty && label.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 })
        }
    }

    @Test(arguments: Metric.allCases) func boundsOfBucketsRise(_ metric: Metric) {
        guard case .histogram(let bounds) = metric.family.kind else { return }
        #expect(!bounds.isEmpty && bounds == bounds.sorted() && Set(bounds).count == bounds.count)
    }
}
