// The names of SwiftAI's proposal SAI-001 that ChatterModels has under another name, so that code written for it needs another import
// only. In new code, use the names of ChatterModels.
@_exported import ChatterFoundationModels
@_exported import ChatterMacros
@_exported import ChatterModels

/// Each model of this library: `LLM`.
public typealias Model = LLM

/// Chooses how tokens are drawn: `LLMReplyOptions.SamplingMode`.
public typealias SamplingMode = LLMReplyOptions.SamplingMode

/// Who speaks: `Message.Role` of ChatterModels.
public typealias Role = ChatterModels.Message.Role

/// A model of OpenAI: `OpenAILLM`.
public typealias OpenaiLLM = OpenAILLM

extension OpenAILLM {
    /// Creates GPT-4.1 of OpenAI, the model of the proposal's first example. Name a model yourself: `OpenAILLM(apiKey:model:)`.
    public init(apiKey: String) {
        self.init(apiKey: apiKey, model: "gpt-4.1")
    }
}
