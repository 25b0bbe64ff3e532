import ChatterdBasics

/// An answer that a model server is generating. Confined to its shard.
public protocol Generation: AnyObject {
    /// Ends the answer: the connection is closed, and the consumer gets no further call.
    func cancel()
    /// Stops reading the answer, because its reader is slow.
    func pause()
    /// Continues reading after `pause`.
    func resume()
}
