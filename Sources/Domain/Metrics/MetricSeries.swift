import ChatterdBasics

/// A combination of the labels of a metric.
struct MetricSeries: Sendable, Hashable {
    let metric: Metric
    /// The values of the labels; empty texts for labels that the metric does not have.
    let first, second, third, fourth: ExactText

    init(_ metric: Metric, _ first: String, _ second: String, _ third: String, _ fourth: String) {
        self.metric = metric
        self.first = ExactText(first)
        self.second = ExactText(second)
        self.third = ExactText(third)
        self.fourth = ExactText(fourth)
    }

    /// The values of the labels, in the order of the declaration.
    var values: ArraySlice<String> {
        [first.text, second.text, third.text, fourth.text].prefix(metric.family.labels.count)
    }

    /// The series that counts what has no series of its own.
    static func other(_ metric: Metric) -> MetricSeries {
        let count = metric.family.labels.count
        func value(_ number: Int) -> String { number < count ? "other" : "" }
        return MetricSeries(metric, value(0), value(1), value(2), value(3))
    }

    /// Whether a series comes first on the page.
    static func precedes(_ left: MetricSeries, _ right: MetricSeries) -> Bool {
        guard left.metric == right.metric else { return left.metric.rawValue < right.metric.rawValue }
        if left.first != right.first { return left.first.precedes(right.first) }
        if left.second != right.second { return left.second.precedes(right.second) }
        if left.third != right.third { return left.third.precedes(right.third) }
        return left.fourth.precedes(right.fourth)
    }
}

extension ExactText {
    fileprivate func precedes(_ other: ExactText) -> Bool { text.utf8.lexicographicallyPrecedes(other.text.utf8) }
}

/// The limit of the series of each metric, which all event loops share. From any thread.
///
/// An event loop asks it once for each series. So a process has one set of series, and the sums of a metric only grow.
public final class SeriesLimit: Sendable {
    private let admitted = Lock<[Metric: Set<MetricSeries>]>([:])

    public init() {}

    /// The series itself if the metric has room for it, else the one for others.
    func admitted(_ series: MetricSeries) -> MetricSeries {
        admitted.withLock { admitted in
            let known = admitted[series.metric, default: []]
            if known.contains(series) { return series }
            guard known.count < series.metric.family.seriesLimit else { return .other(series.metric) }
            admitted[series.metric, default: []].insert(series)
            return series
        }
    }

    /// The number of further series of a metric that have room.
    func room(for metric: Metric) -> Int {
        admitted.withLock { metric.family.seriesLimit - ($0[metric]?.count ?? 0) }
    }
}
