// FoundationModels' names of what ChatterModels has under another name.
@_exported import ChatterMacros
@_exported import ChatterModels

/// The text that a model gets before a conversation.
public typealias Instructions = Prompt
public typealias InstructionsBuilder = PromptBuilder
public typealias InstructionsRepresentable = PromptRepresentable

/// A condition for a value of a type.
public typealias GenerationGuide = Constraint

public typealias ConvertibleFromGeneratedContent = Generable
public typealias ConvertibleToGeneratedContent = Generable

extension Generable {
    /// The value while it is generated.
    public typealias PartiallyGenerated = Partial

    /// The form of the values.
    public static var generationSchema: GenerationSchema { GenerationSchema(schema) }

    /// The value as JSON.
    public var generatedContent: GeneratedContent { GeneratedContent(content: generableContent) }

    /// Creates a value from JSON.
    ///
    /// - Throws: `SchemaViolation`, or an error of the type.
    public init(_ content: GeneratedContent) throws {
        try self.init(from: content.content)
    }
}
