import ChatterdBasics

/// A message of the compiler: an object with one member, whose name is the kind of the request.
enum PluginRequest {
    case capability
    case expansion(ExpansionRequest)
    /// `#name`: there is none.
    case freestandingExpansion
    case libraryLoading
    case unknown(String)

    init(_ message: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(message)
        try reader.beginObject()
        guard let key = try reader.nextKey() else {
            self = .unknown("")
            return
        }
        if reader.matches(key, "getCapability") {
            self = .capability
        } else if reader.matches(key, "expandAttachedMacro") {
            self = .expansion(try ExpansionRequest(reading: &reader))
        } else if reader.matches(key, "expandFreestandingMacro") {
            self = .freestandingExpansion
        } else if reader.matches(key, "loadPluginLibrary") {
            self = .libraryLoading
        } else {
            self = .unknown(String(decodingJSON: message.extracting(key.range)))
        }
    }
}
