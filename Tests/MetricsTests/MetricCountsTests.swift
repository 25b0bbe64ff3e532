import ChatterdBasics
import Testing

@testable import ChatterdMetrics

@Suite struct MetricCountsTests {
    @Test func countsOfEventLoopsAddUp() {
        let limit = SeriesLimit()
        let (one, other, sum) = (MetricCounts(limit), MetricCounts(limit), MetricCounts(limit))
        one.add(to: .takeovers, "adopted")
        one.add(2, to: .takeovers, "fenced")
        other.add(3, to: .takeovers, "fenced")
        other.observe(.milliseconds(5), in: .queueWait, "one")
        for counts in [one, other] { sum.add(counts.snapshot) }
        #expect(sum.value(of: .takeovers, "adopted") == 1)
        #expect(sum.value(of: .takeovers, "fenced") == 5)
        #expect(sum.value(of: .queueWait, "one") == 1)
        #expect(sum.value(of: .takeovers, "settled") == 0)
    }

    @Test func zeroIsASeriesUntilItsFirstCount() {
        let limit = SeriesLimit()
        let counts = MetricCounts(limit)
        counts.add(2, to: .takeovers, "fenced")
        for kind in ["adopted", "fenced", "adopted"] { counts.addZero(to: .takeovers, kind) }
        counts.addZero(to: .storeTime, "pages")
        #expect(counts.series.map { $0.values.joined() } == ["pages", "adopted", "fenced"])
        #expect(counts.value(of: .takeovers, "fenced") == 2 && counts.value(of: .takeovers, "adopted") == 0)
        counts.add(to: .takeovers, "adopted")
        #expect(counts.value(of: .takeovers, "adopted") == 1)
        let unread = MetricCounts(nil)
        unread.addZero(to: .takeovers, "adopted")
        #expect(unread.series.isEmpty)
    }

    @Test func zerosTakeNoRoomOfCountsAndFillTheLimitAtMost() {
        let limit = SeriesLimit()
        let most = Metric.upstreamRequests.family.seriesLimit
        let page = MetricCounts(limit)
        page.add(to: .upstreamRequests, "counted", "ok")
        for number in 0..<(most + 10) { page.addZero(to: .upstreamRequests, "server-\(number)", "ok") }
        #expect(page.series.count == most)
        let shard = MetricCounts(limit)
        for number in 1..<most { shard.add(to: .upstreamRequests, "late-\(number)", "ok") }
        #expect(shard.value(of: .upstreamRequests, "other", "other") == 0)
        let next = MetricCounts(limit)
        next.addZero(to: .upstreamRequests, "server-1", "ok")
        #expect(next.series.isEmpty)
    }

    @Test func snapshotKeepsItsCounts() {
        let limit = SeriesLimit()
        let counts = MetricCounts(limit)
        counts.add(to: .takeovers, "adopted")
        let snapshot = counts.snapshot
        counts.add(to: .takeovers, "adopted")
        counts.add(to: .takeovers, "fenced")
        let copy = MetricCounts(limit)
        copy.add(snapshot)
        #expect(copy.value(of: .takeovers, "adopted") == 1 && copy.value(of: .takeovers, "fenced") == 0)
        #expect(counts.value(of: .takeovers, "adopted") == 2)
    }

    @Test func countsThatAreNotReadAreNotCounted() {
        let counts = MetricCounts(nil)
        counts.add(to: .takeovers, "adopted")
        counts.set(.replies, to: 1, "queue")
        counts.observe(.seconds(1), in: .queueWait, "one")
        #expect(counts.series.isEmpty)
    }

    @Test func boundBelongsToItsBucket() throws {
        let counts = MetricCounts(SeriesLimit())
        let bounds = Metric.queueWait.family.bounds
        let last = try #require(bounds.last)
        for time in [bounds[0], bounds[0] + 1, last, last + 1, 0] {
            counts.observe(.microseconds(time), in: .queueWait, "one")
        }
        let cells = Array(counts.cells(of: MetricSeries(.queueWait, "one", "", "", "")))
        #expect(cells.count == bounds.count + 2)
        #expect(cells[0] == 2 && cells[1] == 1 && cells[bounds.count - 1] == 1 && cells[bounds.count] == 1)
        #expect(cells[bounds.count + 1] == 2 * bounds[0] + 1 + 2 * last + 1)
    }

    @Test func fullCounterStaysFull() {
        let limit = SeriesLimit()
        let counts = MetricCounts(limit)
        counts.add(.max, to: .pieces)
        counts.add(to: .pieces)
        #expect(counts.value(of: .pieces) == .max)
        let sum = MetricCounts(limit)
        for _ in 0..<2 { sum.add(counts.snapshot) }
        #expect(sum.value(of: .pieces) == .max)
        for _ in 0..<3 { counts.observe(.seconds(Int64.max / 1_000_000_000), in: .queueWait, "one") }
        #expect(counts.value(of: .queueWait, "one") == 3)
    }

    @Test(arguments: [Metric.tokens, .replyDuration])
    func seriesBeyondTheLimitCountAsOther(_ metric: Metric) {
        let shared = SeriesLimit()
        let (one, two) = (MetricCounts(shared), MetricCounts(shared))
        let limit = metric.family.seriesLimit
        func count(_ number: Int, on counts: MetricCounts) {
            if metric.family.bounds.isEmpty {
                counts.add(to: metric, "prompt", "server", "model-\(number)")
            } else {
                counts.observe(.seconds(1), in: metric, "server", "model-\(number)", "complete")
            }
        }
        for number in 0..<limit { count(number, on: number % 2 == 0 ? one : two) }
        // The other event loop has not met the series yet, and the process has.
        for number in 0..<limit { count(number, on: number % 2 == 0 ? two : one) }
        for number in limit..<(limit + 7) { count(number, on: one) }
        count(limit, on: two)
        let sum = MetricCounts(shared)
        for counts in [one, two] { sum.add(counts.snapshot) }
        #expect(sum.value(of: metric, "other", "other", "other") == 8)
        #expect(sum.series.count == limit + 1)
        let total = sum.series.reduce(0) { total, series in
            let cells = sum.cells(of: series)
            return total + (metric.family.bounds.isEmpty ? cells : cells.dropLast()).reduce(0, +)
        }
        #expect(total == 2 * limit + 8)
    }

    @Test func labelsAreComparedByTheirBytes() {
        let counts = MetricCounts(SeriesLimit())
        counts.add(to: .upstreamRequests, "caf\u{E9}", "ok")
        counts.add(to: .upstreamRequests, "cafe\u{301}", "ok")
        #expect(counts.series.count == 2)
    }
}
