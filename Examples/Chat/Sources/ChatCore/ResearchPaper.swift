import ChatterMacros

/// What a model finds in the text of a paper.
@Generable
public struct ResearchPaper {
    public let title: String
    public let authors: String
    public let abstract: String
    @Guide(description: "Important topics in the paper as single words", .minimumCount(1), .maximumCount(10))
    public let keywords: [String]
}
