import ChatterdBasics

/// An answer that is being made. Confined to its shard.
public protocol Generation: AnyObject {
    /// Ends it: the model server is told by the close of the connection, and the consumer hears nothing more.
    func cancel()
    /// Holds it back while its reader is slow.
    func pause()
    /// Goes on after `pause`.
    func resume()
}
