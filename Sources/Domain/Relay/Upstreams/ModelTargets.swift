import ChatterdBasics
import ChatterdChat

/// The model servers that may be asked for a reply, according to the current list of servers. A changed server is asked with its new
/// description, and an added one comes last. Each server keeps its number. Confined to its shard.
struct ModelTargets {
    private let model: String
    private let directory: UpstreamDirectory
    private var names: [String] = []
    private var targets: [ModelTarget?] = []
    /// The version of the list of servers from which the targets were made.
    private var version: Int?

    init(for model: String, in directory: UpstreamDirectory) {
        self.model = model
        self.directory = directory
    }

    /// The targets by their numbers; `nil` for a server that was removed or no longer has the model.
    mutating func current() -> [ModelTarget?] {
        guard version != directory.version else { return targets }
        version = directory.version
        var found = directory.targets(for: model)
        for (number, name) in names.enumerated() {
            let same = found.firstIndex { $0.upstream.description.name == name }
            targets[number] = same.map { found.remove(at: $0) }
        }
        names += found.map(\.upstream.description.name)
        // Without `lazy.map` the optional elements are cast one by one at run time.
        targets.append(contentsOf: found.lazy.map(Optional.some))
        return targets
    }
}
