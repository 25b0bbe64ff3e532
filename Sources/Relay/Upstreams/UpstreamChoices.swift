import ChatterdLanguageModels

/// The model servers that may be asked for a reply, as the list has them now: one that was changed meanwhile is asked as it is,
/// one that was added comes last. Each keeps its number. Confined to its shard.
struct UpstreamChoices {
    private let model: String
    private let directory: UpstreamDirectory
    private var names: [String] = []
    private var choices: [UpstreamChoice?] = []
    /// The list that they are of.
    private var version: Int?

    init(for model: String, in directory: UpstreamDirectory) {
        self.model = model
        self.directory = directory
    }

    /// All of them by their numbers; nothing for those that are gone, or do not have the model any more.
    mutating func current() -> [UpstreamChoice?] {
        guard version != directory.version else { return choices }
        version = directory.version
        var found = directory.choices(for: model)
        for (number, name) in names.enumerated() {
            let same = found.firstIndex { $0.upstream.description.name == name }
            choices[number] = same.map { found.remove(at: $0) }
        }
        names += found.map(\.upstream.description.name)
        // Without `lazy.map` the optional elements are cast one by one at run time.
        choices.append(contentsOf: found.lazy.map(Optional.some))
        return choices
    }
}
