import ChatterdBasics
import Testing

@testable import ChatterdMetrics

@Suite struct MetricsFormatTests {
    private let counts = MetricCounts(SeriesLimit())

    private func page(_ format: MetricsFormat = .prometheus) -> String {
        var page = ByteBuffer()
        page.append(counts, as: format)
        return page.string
    }

    private func lines(_ prefix: String, _ format: MetricsFormat = .prometheus) -> [String] {
        page(format).split(separator: "\n").map(String.init).filter { $0.hasPrefix(prefix) }
    }

    @Test func pageHasEachFamilyOnceInTheOrderOfTheTable() {
        let types = lines("# TYPE ")
        let expected = Metric.allCases.map { metric in
            let kind =
                switch metric.family.kind {
                case .counter: "counter"
                case .gauge: "gauge"
                case .histogram: "histogram"
                }
            return "# TYPE \(metric.family.name) \(kind)"
        }
        #expect(types == expected)
        #expect(lines("# HELP ") == Metric.allCases.map { "# HELP \($0.family.name) \($0.family.help)" })
        #expect(!page().contains("# EOF") && !page().contains("# UNIT"))
    }

    @Test func seriesAreInTheOrderOfTheirLabels() {
        for (upstream, outcome) in [("b", "ok"), ("a", "upstream_busy"), ("a", "ok")] {
            counts.add(to: .upstreamRequests, upstream, outcome)
        }
        #expect(
            lines("chatterd_upstream_requests_total") == [
                #"chatterd_upstream_requests_total{upstream="a",outcome="ok"} 1"#,
                #"chatterd_upstream_requests_total{upstream="a",outcome="upstream_busy"} 1"#,
                #"chatterd_upstream_requests_total{upstream="b",outcome="ok"} 1"#,
            ])
    }

    @Test func labelsAreEscaped() {
        counts.set(.upstreamRunning, to: 3, "a\"b\\c\nd{},=é")
        #expect(
            lines("chatterd_upstream_running") == [#"chatterd_upstream_running{upstream="a\"b\\c\nd{},=é"} 3"#])
    }

    @Test func bucketsAreCumulativeUpToInfinity() {
        for milliseconds in [1, 3, 3, 400_000] { counts.observe(.milliseconds(milliseconds), in: .queueWait, "one") }
        let found = lines("chatterd_upstream_queue_wait_seconds")
        #expect(found.first == #"chatterd_upstream_queue_wait_seconds_bucket{upstream="one",le="0.001"} 1"#)
        #expect(found[1] == #"chatterd_upstream_queue_wait_seconds_bucket{upstream="one",le="0.005"} 3"#)
        #expect(found.contains(#"chatterd_upstream_queue_wait_seconds_bucket{upstream="one",le="1.0"} 3"#))
        #expect(
            Array(found.suffix(4)) == [
                #"chatterd_upstream_queue_wait_seconds_bucket{upstream="one",le="300.0"} 3"#,
                #"chatterd_upstream_queue_wait_seconds_bucket{upstream="one",le="+Inf"} 4"#,
                #"chatterd_upstream_queue_wait_seconds_sum{upstream="one"} 400.007"#,
                #"chatterd_upstream_queue_wait_seconds_count{upstream="one"} 4"#,
            ])
    }

    @Test(arguments: [
        (0, "0"), (1, "0.000001"), (1_000_000, "1"), (1_500_000, "1.5"), (12_000_340, "12.00034"),
        (Int.max, "9223372036854.775807"),
    ])
    func secondsAreExact(_ cell: Int, _ text: String) {
        counts.set(.leaseAge, to: cell)
        #expect(lines("chatterd_lease_age_seconds") == ["chatterd_lease_age_seconds \(text)"])
    }

    @Test func openMetricsHasItsNamesUnitsAndEnd() {
        counts.add(7, to: .processCPU)
        counts.add(to: .takeovers, "fenced")
        let page = page(.openMetrics)
        #expect(page.hasSuffix("# EOF\n") && page.split(separator: "\n").filter { $0.hasPrefix("# EOF") }.count == 1)
        #expect(page.contains("# TYPE chatterd_takeovers counter\n"))
        #expect(page.contains("chatterd_takeovers_total{kind=\"fenced\"} 1\n"))
        #expect(
            page.contains(
                "# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\nprocess_cpu_seconds_total 0.000007\n"
            ))
        #expect(!page.contains("# TYPE chatterd_takeovers_total"))
    }

    @Test func pageHasNoOtherLines() {
        for metric in Metric.allCases {
            let values = metric.family.labels.map { "\($0)\n# EOF" } + Array(repeating: "", count: 4)
            counts.add(to: metric, values[0], values[1], values[2], values[3])
        }
        for format in MetricsFormat.allCases {
            for line in page(format).split(separator: "\n") {
                #expect(
                    line.hasPrefix("# HELP ") || line.hasPrefix("# TYPE ") || line.hasPrefix("# UNIT ")
                        || line == "# EOF" || line.hasPrefix("chatterd_") || line.hasPrefix("process_"), "\(line)")
            }
        }
    }
}
