import ChatterdBasics

/// A text format of metrics.
public enum MetricsFormat: Sendable, CaseIterable {
    /// Prometheus' text format 0.0.4.
    case prometheus
    /// OpenMetrics 1.0.
    case openMetrics

    /// The media type of the page.
    public var mediaType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }
}

extension ByteBuffer {
    /// Appends the page of all metrics: the families in the order of the table, each with its series in the order of their labels.
    public mutating func append(_ counts: MetricCounts, as format: MetricsFormat) {
        var series = counts.series[...]
        for metric in Metric.allCases {
            appendHead(of: metric.family, as: format)
            while let next = series.first, next.metric == metric {
                append(next, counts.cells(of: next))
                series.removeFirst()
            }
        }
        if format == .openMetrics {
            append("# EOF\n")
        }
    }

    /// Appends the comments before the series of a family. In OpenMetrics its name has no `_total`, and it may have a unit.
    private mutating func appendHead(of family: MetricFamily, as format: MetricsFormat) {
        let total = "_total"
        let isShorter = format == .openMetrics && family.kind == .counter
        let name =
            isShorter ? String(decoding: family.name.utf8.dropLast(total.utf8.count), as: UTF8.self) : family.name
        append("# HELP ")
        append(utf8: name)
        append(" ")
        append(escaping: family.help, quotes: format == .openMetrics)
        append("\n# TYPE ")
        append(utf8: name)
        switch family.kind {
        case .counter: append(" counter\n")
        case .gauge: append(" gauge\n")
        case .histogram: append(" histogram\n")
        }
        if format == .openMetrics, family.unit != .count {
            append("# UNIT ")
            append(utf8: name)
            append(" ")
            append(utf8: family.unit.rawValue)
            append("\n")
        }
    }

    private mutating func append(_ series: MetricSeries, _ cells: ArraySlice<Int>) {
        let family = series.metric.family
        guard case .histogram(let bounds) = family.kind else {
            append(utf8: family.name)
            appendLabels(of: series)
            append(" ")
            append(cells.first ?? 0, in: family.unit)
            append("\n")
            return
        }
        // The buckets of the page are cumulative.
        var count = 0
        for (number, cell) in cells.dropLast().enumerated() {
            count = count.addingReportingOverflow(cell).overflow ? .max : count + cell
            append(utf8: family.name)
            append("_bucket")
            appendLabels(of: series, below: number < bounds.count ? bounds[number] : nil)
            append(" ")
            append(decimal: count)
            append("\n")
        }
        for (suffix, value, unit) in [
            ("_sum", cells.last ?? 0, family.unit), ("_count", count, MetricFamily.Unit.count),
        ] {
            append(utf8: family.name)
            append(utf8: suffix)
            appendLabels(of: series)
            append(" ")
            append(value, in: unit)
            append("\n")
        }
    }

    private mutating func appendLabels(of series: MetricSeries) {
        guard !series.metric.family.labels.isEmpty else { return }
        append("{")
        appendPairs(of: series)
        append("}")
    }

    /// Appends the labels of a bucket; `nil` for the values above the last bound.
    private mutating func appendLabels(of series: MetricSeries, below bound: Int?) {
        append("{")
        appendPairs(of: series)
        append(series.metric.family.labels.isEmpty ? "le=\"" : ",le=\"")
        if let bound {
            append(bound, in: series.metric.family.unit, hasPoint: true)
        } else {
            append("+Inf")
        }
        append("\"}")
    }

    private mutating func appendPairs(of series: MetricSeries) {
        for (number, (label, value)) in zip(series.metric.family.labels, series.values).enumerated() {
            if number > 0 {
                append(",")
            }
            append(utf8: label)
            append("=\"")
            append(escaping: value, quotes: true)
            append("\"")
        }
    }

    /// Appends a text with the escapes of both formats: of a backslash and a line end, and of a quote where it would end the text.
    private mutating func append(escaping text: String, quotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\"") where quotes: append("\\\"")
            default: append(byte)
            }
        }
    }

    /// Appends a cell as a number of its unit, exactly: `0.005`, `12`.
    ///
    /// - Parameter hasPoint: whether a whole number has a decimal, as a bound of a bucket has in OpenMetrics.
    private mutating func append(_ cell: Int, in unit: MetricFamily.Unit, hasPoint: Bool = false) {
        append(decimal: cell / unit.one)
        var rest = (cell % unit.one).magnitude
        guard rest > 0 else {
            if hasPoint { append(".0") }
            return
        }
        append(".")
        var place = UInt(unit.one / 10)
        while rest > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / place))
            rest %= place
            place /= 10
        }
    }
}
