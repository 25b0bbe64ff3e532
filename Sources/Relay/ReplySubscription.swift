/// One reader of one reply: it hears of new lines while it keeps up, and catches up page by page while it does not. Confined
/// to its shard.
public final class ReplySubscription {
    /// Up to where the reader has got everything.
    public private(set) var position: ReplyPosition
    private let reader: any ReplyReader

    init(_ reader: any ReplyReader, from position: ReplyPosition) {
        self.reader = reader
        self.position = position
    }

    /// The reader, which was full, can take more.
    public func readerCanTakeMore() {}

    /// The reader is gone.
    public func readerLeft() {}
}
