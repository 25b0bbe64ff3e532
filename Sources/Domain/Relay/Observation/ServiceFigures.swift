/// The running replies of a shard at one moment.
public struct ServiceFigures: Sendable {
    /// What a running reply waits for.
    public enum Phase: String, Sendable, CaseIterable {
        /// Earlier turns of the conversation.
        case turn
        /// A slot of a model server.
        case queue
        /// The first piece of the answer.
        case firstToken = "first_token"
        /// The end of the answer.
        case streaming
        /// The store, which closes the reply.
        case closing
    }

    /// The number of replies in each phase.
    public var replies: [Phase: Int] = [:]
    /// Readers on this shard.
    public var readers = 0
    /// Bytes of text that are not stored.
    public var unwritten = 0
    /// Pieces of answers since the start.
    public var pieces = 0
}

extension ChatService {
    /// Counts the running replies. It visits each of them.
    public var figures: ServiceFigures {
        var figures = ServiceFigures()
        for reply in runningReplies {
            figures.replies[reply.figurePhase, default: 0] += 1
            figures.readers += reply.audience.count
            figures.unwritten += reply.content.unjournalled
        }
        figures.pieces = context.pieces
        return figures
    }
}

extension Reply {
    fileprivate var figurePhase: ServiceFigures.Phase {
        switch phase {
        case .waiting: .turn
        case .generating(let generator) where generator.isInQueue: .queue
        case .generating: isEmpty ? .firstToken : .streaming
        case .storing, .ended, .handedOver: .closing
        }
    }
}
