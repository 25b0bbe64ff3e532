import ChatterdBasics
import ChatterdChat

/// A message as far as it counts for the comparison of histories: its role, its text without white space at its ends, its calls of tools by
/// name and arguments, and its images. Clients drop reasoning, and give calls ids of their own.
///
/// Only digests are kept (`ValueDigest`), so that a comparison costs the same for each message.
struct ComparedMessage: Equatable {
    let role: String
    /// Of the text and the calls.
    private let content: Int
    /// Of the images; `nil` without any.
    private let images: Int?

    init(_ message: ModelMessage) {
        role = message.role
        var content = Hasher()
        content.combine(ExactText(String(message.content.trimmed)))
        var images: Int?
        if let extras = message.extras, let members = try? JSONSlice(Array("{\(extras)}".utf8)).members() {
            for call in members["tool_calls"]?.elements() ?? [] {
                let function = call.members()?["function"]?.members()
                content.combine(ExactText(function?["name"]?.string ?? ""))
                content.combine(function?["arguments"].flatMap(\.digest) ?? .emptyObject)
            }
            let list = (members["images"]?.elements() ?? []).compactMap(\.string)
            if !list.isEmpty { images = list.map(ExactText.init).hashValue }
        }
        self.content = content.finalize()
        self.images = images
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: Substring {
        let start = unicodeScalars.firstIndex { !$0.properties.isWhitespace } ?? endIndex
        let end = unicodeScalars.lastIndex { !$0.properties.isWhitespace }.map { unicodeScalars.index(after: $0) }
        return Substring(unicodeScalars[start..<max(start, end ?? start)])
    }
}
