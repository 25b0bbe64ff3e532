import ChatterdBasics
import ChatterdConfiguration
import ChatterdSockets

/// What the server of an issuer says about itself when chatterd reads its keys.
public struct IssuerProbe: Sendable {
    /// The number of keys that can verify signatures.
    public let keys: Int
    /// How far its clock is ahead of this machine's, in whole seconds; negative if it is behind. `nil` if the keys are in a file, or the answer
    /// has no date.
    public let secondsAhead: Int64?

    /// Reads the keys of an issuer as the server does.
    public static func run(_ issuer: ExternalIssuer, on shard: Shard) async -> Result<IssuerProbe, KeySetProblem> {
        let began = WallClock.seconds()
        return await KeySetSource(of: issuer).readDated(on: shard).map { keys, date in
            // Its server has read its clock in between.
            let ahead = date.map { date in
                date < began ? date - began : max(0, date - WallClock.seconds())
            }
            return IssuerProbe(keys: keys.ids.count, secondsAhead: ahead)
        }
    }
}
