import ChatterdBasics

extension Setting {
    /// The known name with the most similar spelling.
    static func nearestName(to name: String) -> String {
        let known = allCases.flatMap { [$0.name, $0.fileName] }.filter { $0.hasPrefix("CHATTERD_") }
        return NearestNames.nearest(to: name, among: known) ?? listen.name
    }
}
