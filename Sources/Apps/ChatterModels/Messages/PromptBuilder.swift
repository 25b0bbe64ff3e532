/// Collects the pieces of a prompt. A text begins a new line after a text.
@resultBuilder
public enum PromptBuilder {
    public static func buildExpression(_ piece: any PromptRepresentable) -> Prompt { Prompt(chunks: piece.chunks) }

    public static func buildBlock(_ pieces: Prompt...) -> Prompt { joined(pieces) }

    public static func buildOptional(_ piece: Prompt?) -> Prompt { piece ?? Prompt(chunks: []) }

    public static func buildEither(first piece: Prompt) -> Prompt { piece }

    public static func buildEither(second piece: Prompt) -> Prompt { piece }

    public static func buildArray(_ pieces: [Prompt]) -> Prompt { joined(pieces) }

    private static func joined(_ pieces: [Prompt]) -> Prompt {
        var chunks: [ContentChunk] = []
        for chunk in pieces.flatMap(\.chunks) {
            if case .text(let text) = chunk, case .text(let before)? = chunks.last {
                chunks[chunks.count - 1] = .text(before + "\n" + text)
            } else {
                chunks.append(chunk)
            }
        }
        return Prompt(chunks: chunks)
    }
}
