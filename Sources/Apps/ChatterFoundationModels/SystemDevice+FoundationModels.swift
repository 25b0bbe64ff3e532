#if canImport(FoundationModels) && (os(macOS) || os(iOS) || os(visionOS))
    import ChatterModels
    import Foundation
    import FoundationModels

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension SystemDevice {
        static var foundationModels: SystemDevice {
            SystemDevice(
                availability: { Availability(SystemLanguageModel.default.availability) },
                answer: { request, report in try await answer(request, report) })
        }

        private static func answer(
            _ request: ProviderRequest, _ report: @escaping @Sendable (SystemStep) -> Void
        ) async throws {
            do {
                let tools = try request.tools.map { try ReportingTool($0, report) }
                let prompt = request.lastPrompt
                let entries = try prompt.before.compactMap { try FoundationModels.Transcript.Entry($0, tools) }
                let session = LanguageModelSession(
                    tools: tools, transcript: FoundationModels.Transcript(entries: entries))
                let options = GenerationOptions(request.options)
                if let schema = request.schema {
                    let form = try GenerationSchema(json: schema)
                    let response = try await session.respond(to: prompt.text, schema: form, options: options)
                    report(.text(response.content.jsonString))
                } else {
                    for try await snapshot in session.streamResponse(to: prompt.text, options: options) {
                        report(.text(snapshot.content))
                    }
                }
            } catch let error as LanguageModelSession.ToolCallError where error.underlyingError is CalledTool {
                // The session of this library runs the tool.
            } catch let error as LanguageModelSession.GenerationError {
                throw ProviderError(error)
            }
        }
    }

    /// The tool was called, and the answer ends.
    private struct CalledTool: Error {}

    /// A tool that reports its call.
    @available(macOS 26, iOS 26, visionOS 26, *)
    private struct ReportingTool: FoundationModels.Tool {
        let name: String
        let description: String
        let parameters: GenerationSchema
        private let report: @Sendable (SystemStep) -> Void

        init(_ tool: ProviderRequest.Tool, _ report: @escaping @Sendable (SystemStep) -> Void) throws {
            name = tool.name
            description = tool.description
            parameters = try GenerationSchema(json: tool.parameters)
            self.report = report
        }

        func call(arguments: GeneratedContent) async throws -> String {
            let arguments = try StructuredContent(json: arguments.jsonString)
            report(.toolCall(ToolCall(id: UUID().uuidString, toolName: name, arguments: arguments)))
            throw CalledTool()
        }
    }

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension Availability {
        fileprivate init(_ availability: SystemLanguageModel.Availability) {
            switch availability {
            case .available: self = .available
            case .unavailable(.deviceNotEligible): self = .unavailable(.deviceNotSupported)
            case .unavailable(.appleIntelligenceNotEnabled): self = .unavailable(.notEnabled)
            case .unavailable(.modelNotReady): self = .unavailable(.modelNotReady)
            case .unavailable(let reason): self = .unavailable(.other("\(reason)"))
            @unknown default: self = .unavailable(.other("\(availability)"))
            }
        }
    }

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension GenerationSchema {
        fileprivate init(json: String) throws {
            self = try JSONDecoder().decode(GenerationSchema.self, from: Data(json.utf8))
        }
    }

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension GenerationOptions {
        fileprivate init(_ options: LLMReplyOptions) {
            let seed = options.seed.map { UInt64(clamping: $0) }
            let sampling: SamplingMode? =
                switch options.samplingMode {
                case .greedy?: .greedy
                case .topP(let probability)?: .random(probabilityThreshold: probability, seed: seed)
                case nil: options.topK.map { .random(top: $0, seed: seed) }
                }
            #if compiler(>=6.4)
                self.init(
                    samplingMode: sampling, temperature: options.temperature,
                    maximumResponseTokens: options.maximumTokens)
            #else
                self.init(
                    sampling: sampling, temperature: options.temperature, maximumResponseTokens: options.maximumTokens)
            #endif
        }
    }

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension FoundationModels.Transcript.Entry {
        /// `nil` for thoughts, which the transcripts of these systems do not have.
        fileprivate init?(_ entry: ProviderEntry, _ tools: [ReportingTool]) throws {
            typealias Transcript = FoundationModels.Transcript
            func segments(_ text: String) -> [Transcript.Segment] { [.text(Transcript.TextSegment(content: text))] }
            switch entry {
            case .instructions(let text):
                let definitions = tools.map { Transcript.ToolDefinition(tool: $0) }
                self = .instructions(Transcript.Instructions(segments: segments(text), toolDefinitions: definitions))
            case .prompt(let text): self = .prompt(Transcript.Prompt(segments: segments(text)))
            case .reasoning: return nil
            case .toolCalls(let calls):
                self = .toolCalls(
                    Transcript.ToolCalls(
                        try calls.map {
                            Transcript.ToolCall(
                                id: $0.id, toolName: $0.toolName,
                                arguments: try GeneratedContent(json: $0.arguments.json))
                        }))
            case .toolOutput(let id, let name, let text):
                self = .toolOutput(Transcript.ToolOutput(id: id, toolName: name, segments: segments(text)))
            case .response(_, let text):
                self = .response(Transcript.Response(assetIDs: [], segments: segments(text)))
            }
        }
    }

    @available(macOS 26, iOS 26, visionOS 26, *)
    extension ProviderError {
        fileprivate init(_ error: LanguageModelSession.GenerationError) {
            switch error {
            case .exceededContextWindowSize: self = .contextSizeExceeded(error.localizedDescription)
            case .rateLimited: self = .rateLimited(error.localizedDescription, retryAfter: nil)
            case .guardrailViolation: self = .guardrailViolation(error.localizedDescription)
            case .refusal: self = .refusal(error.localizedDescription)
            case .assetsUnavailable: self = .other(.unavailable(.modelNotReady))
            case .unsupportedGuide, .unsupportedLanguageOrLocale:
                self = .other(.rejected(error.localizedDescription))
            default: self = .other(.failed(error.localizedDescription))
            }
        }
    }
#endif
