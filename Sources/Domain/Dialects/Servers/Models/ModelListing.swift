import ChatterdBasics
import ChatterdChat

/// One entry of a model server's list of models.
public struct ModelListing {
    /// The model's name.
    public private(set) var name = ""
    /// The context length that the server gives it, in tokens; `nil` if the server does not report it.
    public private(set) var served: Int?
    /// The context length that it was trained for, in tokens; `nil` if the server does not report it.
    public private(set) var trained: Int?
    /// What an Ollama says of it; `nil` if the entry has no digest.
    public private(set) var installed: InstalledModel?
    /// Whether it generates text; `false` for a model of embeddings.
    public private(set) var canChat = true

    /// The description for clients.
    public var description: ModelDescription {
        ModelDescription(name: name, contextLength: served ?? trained, installed: installed, canChat: canChat)
    }

    /// The models of a list: `{"models":[…]}` of Ollama, `{"data":[…]}` of the others.
    ///
    /// - Throws: `wrongType` if there is no such list, or the error of the JSON.
    public static func all(in body: Span<UInt8>, of kind: UpstreamDescription.Kind) throws(JSONError) -> [ModelListing]
    {
        var listings: [ModelListing] = []
        var hasList = false
        var reader = JSONReader(body)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isList = kind == .ollama ? reader.matches(key, "models") : reader.matches(key, "data")
            guard isList, try reader.kind() == .array else {
                // An old Ollama without models sends null.
                if isList, try reader.kind() == .null { hasList = true }
                try reader.skipValue()
                continue
            }
            hasList = true
            try reader.beginArray()
            while try reader.nextElement() {
                let listing = try ModelListing(from: &reader)
                // No request can name another one, and clients show the names in terminals.
                if ModelName.isListable(listing.name) { listings.append(listing) }
            }
        }
        try reader.finish()
        guard hasList else { throw JSONError(.wrongType, at: 0) }
        return listings
    }

    /// The context length of each answer of llama.cpp, from its `/props`; `nil` if it is missing.
    public static func contextLength(inProperties body: Span<UInt8>) throws(JSONError) -> Int? {
        var found: Int?
        var reader = JSONReader(body)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard reader.matches(key, "default_generation_settings"), try reader.kind() == .object else {
                try reader.skipValue()
                continue
            }
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if reader.matches(key, "n_ctx") {
                    found = try reader.positiveCountOrSkip()
                } else {
                    try reader.skipValue()
                }
            }
        }
        return found
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        guard try reader.kind() == .object else {
            try reader.skipValue()
            return
        }
        var installed = InstalledModel()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "id") || reader.matches(key, "name") || reader.matches(key, "identifier") {
                name = try reader.stringOrSkip().map { String(decodingJSON: reader.bytes.extracting($0.range)) } ?? name
            } else if reader.matches(key, "context_length") || reader.matches(key, "max_model_len") {
                served = try reader.positiveCountOrSkip()
            } else if reader.matches(key, "model_type") {
                canChat = try reader.stringOrSkip().map { reader.matches($0, "llm") } ?? canChat
            } else if reader.matches(key, "capabilities"), try reader.kind() == .array {
                canChat = try Self.hasCompletion(in: &reader)
            } else if reader.matches(key, "meta"), try reader.kind() == .object {
                try readMeta(from: &reader)
            } else if try !installed.read(key, from: &reader) {
                try reader.skipValue()
            }
        }
        self.installed = installed.digest.isEmpty ? nil : installed
    }

    /// Reads the part of an entry that only llama.cpp writes.
    private mutating func readMeta(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "n_ctx") {
                served = try reader.positiveCountOrSkip() ?? served
            } else if reader.matches(key, "n_ctx_train") {
                trained = try reader.positiveCountOrSkip()
            } else {
                try reader.skipValue()
            }
        }
    }

    /// Whether Ollama's `capabilities` include chats. An empty list counts as yes.
    private static func hasCompletion(in reader: inout JSONReader) throws(JSONError) -> Bool {
        var isEmpty = true
        var found = false
        try reader.beginArray()
        while try reader.nextElement() {
            isEmpty = false
            if let word = try reader.stringOrSkip(), reader.matches(word, "completion") { found = true }
        }
        return isEmpty || found
    }
}
