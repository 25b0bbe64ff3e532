import ChatterdBasics

/// The plugin's conversation with the compiler, over the standard input and output.
///
/// The plugin speaks the compiler's protocol itself: a package that is used by its URL needs neither swift-syntax nor unsafe flags for
/// it (docs/decisions/0050).
package enum PluginConversation {
    /// Answers messages until the input ends.
    package static func run() {
        // The compiler reports a plugin that ends instead of an answer.
        while let message = MessageChannel.next(), let response = response(to: message) {
            MessageChannel.send(response.json)
        }
    }

    /// The answer to a message; `nil` for one that is not of the protocol, or of a later one.
    static func response(to message: [UInt8]) -> PluginResponse? {
        guard let request = try? PluginRequest(message.readable) else { return nil }
        switch request {
        case .capability: return .capability
        case .libraryLoading: return .libraryNotLoaded
        case .freestandingExpansion: return .expansion(nil, [])
        case .expansion(let request): return Expansion(request).response
        case .unknown: return nil
        }
    }
}
