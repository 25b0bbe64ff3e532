import CChatterdSystem
import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// The proof that a descriptor is watched.
public struct Registration: Sendable {
    let slot: Int
    let descriptor: Int32
}
