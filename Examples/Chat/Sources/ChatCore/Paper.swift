import ChatterModels

/// Has any model extract a paper from a text.
///
/// - Returns: a sentence with the paper, or the reason why there is none.
public func paper(in text: String, by llm: any LLM) async -> String {
    do {
        let paper = try await llm.reply(to: text, returning: ResearchPaper.self).content
        return "\(paper.title), by \(paper.authors): \(paper.keywords.joined(separator: ", "))"
    } catch {
        return error.message
    }
}
