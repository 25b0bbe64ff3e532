/// A metric of the program, in the order of the page.
///
/// `Metric+Table.swift` declares each of them: name, help, kind, unit, labels and buckets. `MetricCounts` counts them.
public enum Metric: Int, CaseIterable, Sendable {
    case build
    case processCPU
    case processMemory
    case processOpenFiles
    case processMaxFiles
    case processStart
    case eventLoopDelay
    case limitUsage

    case requests
    case requestDuration
    case connections
    case connectionsLimit
    case slowReadersCut

    case repliesStarted
    case repliesEnded
    case replies
    case repliesLimit
    case readers
    case timeToFirstToken
    case partsOfFirstToken
    case timePerToken
    case replyDuration
    case tokens
    case pieces

    case upstreamRequests
    case failovers
    case upstreamUp
    case upstreamCooldown
    case upstreamRunning
    case upstreamSlots
    case upstreamQueue
    case upstreamQueueLimit
    case queueWait
    case toolCalls
    case toolTime
    case hookCalls
    case hookTime

    case storeConnections
    case storeConnectionsLimit
    case storeWaiting
    case storeWaitingLimit
    case storeTime
    case storeErrors
    case storeWritable
    case leaseAge
    case journalUnwritten
    case journalLag
    case takeovers
    case housekeeping
    case retentionLag

    case memoryUsed
    case memoryLimit
    case memoryRefusals
    case certificateEnd
    case spans

    /// The declarations of all metrics, by their raw values.
    public static let families: [MetricFamily] = allCases.map(\.declaration)

    /// The declaration.
    public var family: MetricFamily { Self.families[rawValue] }
}
