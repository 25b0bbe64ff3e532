import ChatterdBasics
import ChatterdChat

/// The value of `CHATTERD_UPSTREAMS`: a JSON list of model servers.
struct UpstreamList {
    /// The entries without mistakes.
    private(set) var upstreams: [UpstreamDescription] = []
    /// The mistakes. Each names its entry and shows no key.
    private(set) var problems: [String] = []

    /// Reads a list.
    init(_ text: String, defaults: UpstreamReader.Defaults) {
        let bytes = Array(text.utf8)
        var number = 0
        do {
            var reader = JSONReader(bytes.span)
            try reader.beginArray()
            while try reader.nextElement() {
                number += 1
                let entry = try JSONSlice(copying: &reader)
                guard entry.kind == .object else {
                    problems.append("entry \(number) is not an object")
                    continue
                }
                append(try UpstreamReader(of: entry, .environment, defaults: defaults), number: number)
            }
            try reader.finish()
        } catch {
            problems.append("not a JSON list of objects: \(error)")
        }
    }

    private mutating func append(_ entry: UpstreamReader, number: Int) {
        if let upstream = entry.description {
            upstreams.append(upstream)
        }
        let name = entry.name.map { " (\"\(SettingText.excerpt($0))\")" } ?? ""
        problems += entry.problems.map { "entry \(number)\(name): \($0)" }
    }
}
