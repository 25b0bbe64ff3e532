import ChatterdBasics

/// The counts of one event loop: plain numbers, without locks, as only that event loop uses them. Confined to its shard.
///
/// The first count of a series allocates its cells, and every later one finds them. A scrape takes a copy of all (`snapshot`), and adds
/// the copies of all event loops up. Labels have words of the program and names of its configuration, never a text of a client.
public final class MetricCounts {
    /// The counts at one moment.
    public struct Snapshot: Sendable {
        fileprivate let offsets: [MetricSeries: Int]
        fileprivate let cells: [Int]
    }

    private var offsets: [MetricSeries: Int] = [:]
    private var cells: [Int] = []
    private var zeros: [Metric: Int] = [:]
    private let limit: SeriesLimit?

    /// - Parameter limit: `nil` for a process whose counts are not read: then nothing is counted.
    public init(_ limit: SeriesLimit?) {
        self.limit = limit
    }

    // MARK: - Counting

    /// Adds to a counter. A number that is too large for it stays the largest one.
    public func add(
        _ count: Int = 1, to metric: Metric, _ first: String = "", _ second: String = "", _ third: String = "",
        _ fourth: String = ""
    ) {
        guard limit != nil else { return }
        let offset = offset(of: MetricSeries(metric, first, second, third, fourth))
        Self.add(count, to: &cells[offset])
    }

    /// Sets a gauge, in the unit of its cells (`MetricFamily.Unit.one`).
    public func set(
        _ metric: Metric, to value: Int, _ first: String = "", _ second: String = "", _ third: String = "",
        _ fourth: String = ""
    ) {
        guard limit != nil else { return }
        let offset = offset(of: MetricSeries(metric, first, second, third, fourth))
        cells[offset] = value
    }

    /// Adds a time to a histogram.
    public func observe(
        _ time: Duration, in metric: Metric, _ first: String = "", _ second: String = "", _ third: String = "",
        _ fourth: String = ""
    ) {
        guard limit != nil else { return }
        let series = MetricSeries(metric, first, second, third, fourth)
        let bounds = metric.family.bounds
        let value = Int(clamping: time.nanoseconds / 1_000)
        let offset = offset(of: series)
        // A bound belongs to its bucket.
        Self.add(1, to: &cells[offset + (bounds.firstIndex { value <= $0 } ?? bounds.count)])
        Self.add(value, to: &cells[offset + bounds.count + 1])
    }

    /// Shows a series before its first count, so that rates see that count.
    ///
    /// The series takes no room of the limit: where the counted series and the zeros of a metric fill it, further zeros are left out.
    public func addZero(
        to metric: Metric, _ first: String = "", _ second: String = "", _ third: String = "", _ fourth: String = ""
    ) {
        let series = MetricSeries(metric, first, second, third, fourth)
        guard let limit, offsets[series] == nil, zeros[metric, default: 0] < limit.room(for: metric) else { return }
        zeros[metric, default: 0] += 1
        makeCells(of: series)
    }

    /// Adds the counts of an event loop.
    public func add(_ snapshot: Snapshot) {
        for (series, source) in snapshot.offsets {
            let offset = offset(of: series)
            for cell in 0..<series.metric.family.width {
                Self.add(snapshot.cells[source + cell], to: &cells[offset + cell])
            }
        }
    }

    /// A sum of times is full after 290,000 years, and stays full then.
    @inline(__always)
    private static func add(_ count: Int, to cell: inout Int) {
        let (sum, overflows) = cell.addingReportingOverflow(count)
        cell = overflows ? .max : sum
    }

    @inline(__always)
    private func offset(of series: MetricSeries) -> Int {
        offsets[series] ?? makeCells(for: series)
    }

    @inline(never)
    private func makeCells(for series: MetricSeries) -> Int {
        let admitted = limit?.admitted(series) ?? series
        return offsets[admitted] ?? makeCells(of: admitted)
    }

    @discardableResult
    private func makeCells(of series: MetricSeries) -> Int {
        let offset = cells.count
        cells.append(contentsOf: repeatElement(0, count: series.metric.family.width))
        offsets[series] = offset
        return offset
    }

    // MARK: - Reading

    /// A copy of all counts. It takes microseconds: the copy of one array of numbers.
    public var snapshot: Snapshot {
        Snapshot(offsets: offsets, cells: cells.withUnsafeBufferPointer { Array($0) })
    }

    /// All series in the order of the page.
    var series: [MetricSeries] { offsets.keys.sorted(by: MetricSeries.precedes) }

    /// The cells of a series.
    func cells(of series: MetricSeries) -> ArraySlice<Int> {
        offsets[series].map { cells[$0...].prefix(series.metric.family.width) } ?? []
    }

    /// The value of a counter or a gauge; for a histogram the number of values. 0 for a series without counts.
    public func value(
        of metric: Metric, _ first: String = "", _ second: String = "", _ third: String = "", _ fourth: String = ""
    ) -> Int {
        let cells = cells(of: MetricSeries(metric, first, second, third, fourth))
        return metric.family.bounds.isEmpty ? cells.first ?? 0 : cells.dropLast().reduce(0, +)
    }
}
