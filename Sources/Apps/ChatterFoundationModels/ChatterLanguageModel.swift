// `LanguageModel` is of the systems of 2026, whose SDK comes with Swift 6.4.
#if canImport(FoundationModels) && compiler(>=6.4)
    import ChatterModels
    import Foundation
    import FoundationModels

    /// A model of this library for a `LanguageModelSession` of FoundationModels:
    ///
    ///     let model = ChatterLanguageModel(ChatterdLLM(client: client, model: "llama3.2"))
    ///     let session = LanguageModelSession(model: model)
    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    public struct ChatterLanguageModel: LanguageModel {
        public let capabilities = LanguageModelCapabilities([.guidedGeneration, .toolCalling, .reasoning])
        public let executorConfiguration = Executor.Configuration()
        fileprivate let llm: any LLM

        public init(_ llm: any LLM) {
            self.llm = llm
        }

        /// Asks the model that each request names.
        public struct Executor: LanguageModelExecutor {
            public struct Configuration: Hashable, Sendable {}

            public typealias Model = ChatterLanguageModel

            public init(configuration: Configuration) throws {}

            public func prewarm(model: Model, transcript: FoundationModels.Transcript) {}

            public nonisolated(nonsending) func respond(
                to request: LanguageModelExecutorGenerationRequest, model: Model,
                streamingInto channel: LanguageModelExecutorGenerationChannel
            ) async throws {
                do {
                    var course = ProviderCourse(entry: request.id.uuidString)
                    for try await event in model.llm.events(for: try GenerationRequest(ProviderRequest(request))) {
                        for event in try course.events(after: event) {
                            await channel.send(event)
                        }
                    }
                } catch let error as LLMError {
                    throw Self.systemError(ProviderError(error), of: error)
                }
            }

            /// The error that FoundationModels knows; that of this library where it has none.
            private static func systemError(_ error: ProviderError, of cause: LLMError) -> any Error {
                switch error {
                case .contextSizeExceeded(let text):
                    LanguageModelError.contextSizeExceeded(
                        .init(contextSize: 0, tokenCount: 0, debugDescription: text))
                case .cancelled: CancellationError()
                case .rateLimited, .refusal, .guardrailViolation, .other: cause
                }
            }
        }
    }

    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    extension LanguageModelExecutorGenerationChannel {
        fileprivate func send(_ event: ProviderEvent) async {
            switch event {
            case .appendText(let text, let entry):
                await send(.response(entryID: entry, action: .appendText(text, tokenCount: 0)))
            case .appendReasoning(let text, let entry):
                await send(.reasoning(entryID: entry, action: .appendText(text, tokenCount: 0)))
            case .toolCall(let id, let name, let arguments, let entry):
                await send(
                    .toolCalls(
                        entryID: entry,
                        action: .toolCall(id: id, name: name, action: .appendArguments(arguments, tokenCount: 0))))
            case .usage(let prompt, let answer, let entry):
                await send(
                    .response(
                        entryID: entry,
                        action: .updateUsage(
                            input: .init(totalTokenCount: prompt, cachedTokenCount: 0),
                            output: .init(totalTokenCount: answer, reasoningTokenCount: 0))))
            }
        }
    }

    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    extension ProviderRequest {
        fileprivate init(_ request: LanguageModelExecutorGenerationRequest) throws {
            var options = LLMReplyOptions()
            options.temperature = request.generationOptions.temperature
            options.maximumTokens = request.generationOptions.maximumResponseTokens
            if request.generationOptions.samplingMode == .greedy { options.samplingMode = .greedy }
            self.init(
                entries: try request.transcript.map(ProviderEntry.init),
                tools: try request.enabledToolDefinitions.map {
                    Tool(name: $0.name, description: $0.description, parameters: try $0.parameters.jsonText)
                }, schema: try request.schema?.jsonText, options: options)
        }
    }

    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    extension ProviderEntry {
        fileprivate init(_ entry: FoundationModels.Transcript.Entry) throws {
            switch entry {
            case .instructions(let entry): self = .instructions(try entry.segments.text)
            case .prompt(let entry): self = .prompt(try entry.segments.text)
            case .reasoning(let entry): self = .reasoning(try entry.segments.text)
            case .toolCalls(let calls):
                self = .toolCalls(
                    try calls.map {
                        ToolCall(
                            id: $0.id, toolName: $0.toolName,
                            arguments: try StructuredContent(json: $0.arguments.jsonString))
                    })
            case .toolOutput(let output):
                self = .toolOutput(id: output.id, toolName: output.toolName, text: try output.segments.text)
            case .response(let response): self = .response(id: response.id, text: try response.segments.text)
            @unknown default: throw LLMError.rejected("The model cannot read an entry of the transcript.")
            }
        }
    }

    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    extension [FoundationModels.Transcript.Segment] {
        fileprivate var text: String {
            get throws {
                try map { segment in
                    switch segment {
                    case .text(let segment): segment.content
                    case .structure(let segment): segment.content.jsonString
                    default: throw LLMError.rejected("The model cannot read a part of the transcript.")
                    }
                }.joined(separator: "\n")
            }
        }
    }

    @available(macOS 27, iOS 27, visionOS 27, watchOS 27, *)
    extension GenerationSchema {
        fileprivate var jsonText: String {
            get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
        }
    }
#endif
