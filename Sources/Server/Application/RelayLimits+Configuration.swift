import ChatterdConfiguration
import ChatterdRelay

extension RelayLimits {
    /// The limits that the configuration gives.
    init(_ configuration: Configuration) {
        self.init()
        failoverAttempts = configuration.relay.failoverAttempts
        rescueAttempts = configuration.relay.rescueAttempts
        restartWait = configuration.relay.upstreamRestartWait
        replies = configuration.relay.maximumReplies
        waitingTurns = configuration.relay.maximumWaitingTurns
        disconnectGrace = configuration.relay.disconnectGrace
        storePatience = configuration.relay.storeRetryTimeout
        journalTick = configuration.relay.journalTick
        stopPatience = configuration.patience.stop
        longestRetryAfter = configuration.patience.retryAfter
    }
}
