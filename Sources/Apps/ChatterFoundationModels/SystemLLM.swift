import ChatterModels
import ChatterdBasics

/// The model of this device, by Apple's FoundationModels: macOS 26, iOS 26 and visionOS 26 or later, with Apple Intelligence.
///
/// Elsewhere the model is unavailable with the reason, so that it is the first of several models everywhere:
///
///     let llm = FallbackLLM(SystemLLM(), ChatterdLLM(client: client))
///
/// A text arrives in pieces, a typed answer and calls of tools in one. The model reads no images. A tool runs in the session, not in
/// FoundationModels. After its result the model gets a prompt that asks it to continue, because FoundationModels only answers prompts.
public struct SystemLLM: LLM {
    public let name = "system"
    public let generatesSchemasWithTools = true
    private let device: SystemDevice

    public init() {
        self.init(.current)
    }

    init(_ device: SystemDevice) {
        self.device = device
    }

    /// Whether the model can answer now. It is not asked.
    public var availability: Availability { device.availability() }

    /// Whether the model can answer now.
    public var isAvailable: Bool { availability == .available }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let reply = Reply(device, request)
        return AsyncThrowingStream { try await reply.next() }
    }

    /// Asks the device when the first event is awaited, and cancels when its reader has left.
    private actor Reply {
        private let device: SystemDevice
        private let request: GenerationRequest
        private var stream: AsyncThrowingStream<GenerationEvent, any Error>?

        init(_ device: SystemDevice, _ request: GenerationRequest) {
            self.device = device
            self.request = request
        }

        func next() async throws -> GenerationEvent? {
            let stream = stream ?? begin()
            self.stream = stream
            return try await stream.nextElement()
        }

        private func begin() -> AsyncThrowingStream<GenerationEvent, any Error> {
            AsyncThrowingStream { continuation in
                let task = Task { [device, request] in
                    do {
                        let course = Lock(SystemCourse())
                        if case .unavailable(let reason) = device.availability() { throw LLMError.unavailable(reason) }
                        try await device.answer(ProviderRequest(request)) { step in
                            course.withLock { course in
                                for event in course.events(after: step) { continuation.yield(event) }
                            }
                        }
                        continuation.yield(course.withLock { $0.end })
                        continuation.finish()
                    } catch let error as ProviderError {
                        continuation.finish(throwing: LLMError(error))
                    } catch is CancellationError {
                        continuation.finish(throwing: LLMError.cancelled)
                    } catch {
                        continuation.finish(throwing: error as? LLMError ?? .failed("\(error)"))
                    }
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }
}
