import LanguageModels

/// The models of a shard, and which of them answers to which name.
public struct ModelDirectory: Sendable {
    /// A model server with the names it serves.
    public struct Entry: Sendable {
        /// The name that the operator gave it.
        public let name: String
        /// The names of models that it alone serves; empty for all that no other one claims.
        public let serves: [String]
        /// The server.
        public let model: any LanguageModel

        /// Makes an entry.
        public init(name: String, serves: [String], model: any LanguageModel) {
            self.name = name
            self.serves = serves
            self.model = model
        }
    }

    private let byModel: [String: any LanguageModel]
    private let fallback: any LanguageModel

    /// Makes a directory; `first` serves every name that no entry claims.
    public init(_ first: Entry, _ others: [Entry] = []) {
        fallback = others.first(where: { $0.serves.isEmpty && !first.serves.isEmpty })?.model ?? first.model
        var byModel: [String: any LanguageModel] = [:]
        for entry in [first] + others {
            for name in entry.serves where byModel[name] == nil {
                byModel[name] = entry.model
            }
        }
        self.byModel = byModel
    }

    /// The server that is asked for a model.
    public func model(named name: String) -> any LanguageModel {
        byModel[name] ?? fallback
    }
}
