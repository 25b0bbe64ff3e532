import ChatterdBasics
import ChatterdLanguageModels

/// A message as far as it counts for the comparison of histories: its role, its text without white space at its ends, its calls of tools by
/// name and arguments, and its images. Clients drop reasoning, and give calls ids of their own.
struct ComparedMessage: Equatable {
    let role: String
    private let text: Substring
    private let calls: [Call]
    private let images: [String]

    private struct Call: Equatable {
        let name: String
        let arguments: ComparedValue
    }

    init(_ message: ModelMessage) {
        role = message.role
        text = message.content.trimmed
        var (calls, images) = ([Call](), [String]())
        if let extras = message.extras, let members = try? DoorValue(Array("{\(extras)}".utf8)).members() {
            calls = (members["tool_calls"]?.elements() ?? []).map { call in
                let function = call.members()?["function"]?.members()
                return Call(
                    name: function?["name"]?.string ?? "",
                    arguments: function?["arguments"].map { ComparedValue($0) } ?? .object([:]))
            }
            images = (members["images"]?.elements() ?? []).compactMap(\.string)
        }
        self.calls = calls
        self.images = images
    }

    /// Not transitive, because of the images: clients that save bytes leave old ones out.
    static func == (left: ComparedMessage, right: ComparedMessage) -> Bool {
        left.isSame(as: right) && left.imagesAgree(with: right)
    }

    /// Whether two messages are equal apart from their images. This is transitive.
    func isSame(as other: ComparedMessage) -> Bool {
        role == other.role && ExactText(String(text)) == ExactText(String(other.text)) && calls == other.calls
    }

    /// Whether the images are equal, or one of the messages has none.
    func imagesAgree(with other: ComparedMessage) -> Bool {
        images == other.images || images.isEmpty || other.images.isEmpty
    }

    var hasImages: Bool { !images.isEmpty }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: Substring {
        let start = unicodeScalars.firstIndex { !$0.properties.isWhitespace } ?? endIndex
        let end = unicodeScalars.lastIndex { !$0.properties.isWhitespace }.map { unicodeScalars.index(after: $0) }
        return Substring(unicodeScalars[start..<max(start, end ?? start)])
    }
}
