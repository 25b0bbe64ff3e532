/// The declaration of a metric.
public struct MetricFamily: Sendable {
    /// What the values mean.
    public enum Kind: Sendable, Equatable {
        /// Only grows.
        case counter
        /// The value of the moment.
        case gauge
        /// Values by size: the upper bounds of the buckets, ascending, in the unit of the cells.
        case histogram([Int])
    }

    /// The unit, which ends the name. Counts are whole numbers; `MetricCounts` has seconds and ratios in millionths.
    public enum Unit: String, Sendable {
        case count = ""
        case bytes
        case seconds
        case ratio

        /// The cell of the value 1.
        public var one: Int {
            switch self {
            case .count, .bytes: 1
            case .seconds, .ratio: 1_000_000
            }
        }
    }

    /// The name, with the unit, and with `_total` for a counter.
    public let name: String
    /// A sentence for people.
    public let help: String
    public let kind: Kind
    public let unit: Unit
    /// The names of the labels; four at most.
    public let labels: [String]

    /// The maximum number of series of a histogram; each has a line for each bucket.
    public static let histogramSeries = 200
    /// The maximum number of series of another metric.
    public static let plainSeries = 4_000

    /// The maximum number of combinations of labels. Further ones count as `other`.
    var seriesLimit: Int { bounds.isEmpty ? Self.plainSeries : Self.histogramSeries }

    /// The upper bounds of the buckets; empty unless the metric is a histogram.
    var bounds: [Int] {
        if case .histogram(let bounds) = kind { bounds } else { [] }
    }

    /// The cells of a series: one value; or each bucket, the values above the last bound, and the sum.
    var width: Int { bounds.isEmpty ? 1 : bounds.count + 2 }
}
