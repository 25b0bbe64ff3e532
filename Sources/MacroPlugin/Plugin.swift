import ChatterdBasics

/// Expands the macros of `ChatterMacros` for the compiler, which starts this program and talks to it over its standard input and output.
///
/// It speaks the compiler's protocol itself: a package that is used by its URL needs neither swift-syntax nor unsafe flags for it
/// (docs/decisions/0050).
@main
struct Plugin {
    static func main() {
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
