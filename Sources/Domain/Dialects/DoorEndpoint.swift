import ChatterdHTTP
import ChatterdRelay

/// A method of a path of a door, and what it does.
public struct DoorEndpoint: Sendable {
    /// What a request does.
    public enum Operation: Sendable {
        /// Asks a model.
        case ask(any ChatTranslator)
        /// Lists the models.
        case models(any ModelLister)
        /// Describes the model whose name ends the path.
        case model(any ModelLister)
        /// Describes the model that the body names.
        case show(any ModelLister)
        /// Estimates the tokens of a request of `translator`.
        case count(any ChatTranslator)
        /// Reads or changes the response whose id the path has.
        case response(ResponseOperation, any ChatTranslator)
        /// Reads or changes a conversation of Open Responses.
        case conversation(DoorConversationOperation)
        /// Passes the request on to the server of the model, if that is of the kind `ollama`.
        case pass
        /// Passes the request on to a server of the model in the form of the kind of that server.
        case translate(any PassTranslator)
        /// Changes the models of a server of the kind `ollama`, for administrators.
        case change(ModelChange)
        /// Refuses the request for this reason.
        case refuse(RelayError)
        /// Names this version of the API of the door.
        case version(String)
    }

    public let method: Method
    /// The path; `:name` stands for a segment.
    public let path: String
    public let operation: Operation

    /// Whether the path names the response or the conversation that a request reads or changes.
    public var namesWhatItReads: Bool {
        switch operation {
        case .response, .conversation: true
        default: false
        }
    }

    init(_ method: Method, _ path: String, _ operation: Operation) {
        self.method = method
        self.path = path
        self.operation = operation
    }
}

/// What a request does with a response.
public enum ResponseOperation: Sendable {
    /// Reads it, as it is or as a stream.
    case retrieve
    /// Stops it.
    case cancel
    /// Removes it.
    case delete
    /// Lists the items of its input.
    case listInput
}

/// What a request does with a conversation of Open Responses.
public enum DoorConversationOperation: Sendable {
    case create
    case retrieve
    /// Changes its metadata.
    case change
    case delete
    /// Lists its items.
    case listItems
    /// Reads one of its items.
    case item
    /// Adds items at its end.
    case addItems
    /// Deletes its last item.
    case deleteItem
}
