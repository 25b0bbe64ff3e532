import ChatterdBasics

/// The title of a conversation.
public enum ConversationTitle {
    /// The limit of a title, in Unicode scalars.
    public static let maximumLength = 200
    /// The limit of a title that is taken from a message, in characters.
    public static let openingLength = 80

    /// The limit of the text in which the words of a title are searched, in Unicode scalars.
    private static let searchedLength = 4_096

    /// The first words of a message as a title: white space is one space, and the text ends between words unless its first word is
    /// longer than the limit. It has `maximumLength` scalars at most, whatever its characters. `nil` for a message without words.
    public static func opening(of message: String) -> String? {
        var title = ""
        // A character may have any number of scalars.
        let start = Substring(message.unicodeScalars.drop(while: \.properties.isWhitespace).prefix(searchedLength))
        for word in start.split(whereSeparator: { $0.isWhitespace || $0.isNewline }) {
            let separator = title.isEmpty ? "" : " "
            guard title.count + separator.count + word.count <= openingLength else {
                return title.isEmpty ? cut(String(word.prefix(openingLength))) : cut(title)
            }
            title += separator + word
        }
        return title.isEmpty ? nil : cut(title)
    }

    private static func cut(_ title: String) -> String { String(title.unicodeScalars.prefix(maximumLength)) }

    /// The title in a request.
    static func decode(_ value: Span<UInt8>) throws(ChatRequestError) -> String {
        let field = ChatRequestField("title", value)
        let title = try field.string(upTo: maximumLength)
        try field.requireNoControls(in: title)
        return title
    }
}
