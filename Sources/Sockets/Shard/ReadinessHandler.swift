import CChatterdSystem
import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// Whoever a shard tells that a descriptor is ready.
public protocol ReadinessHandler: AnyObject, Sendable {
    /// Called on the shard.
    func becameReady(_ readiness: Readiness)
}
