import ChatterdBasics

/// The first of several models that is available.
///
/// A model that fails before its first event, because its server cannot be reached or has no key, or is busy, is followed by the next one.
/// The model that answered last is not asked whether it is available; those before it are, so that they come back.
public struct FallbackLLM: LLM {
    public let models: [any LLM]
    /// The index of the model that answered last.
    private let last = Lock<Int?>(nil)

    public init(_ models: any LLM...) {
        self.models = models
    }

    /// The same with a list that is made at run time.
    public init(_ models: [any LLM]) {
        self.models = models
    }

    public var name: String { models.map(\.name).joined(separator: ", else ") }

    public var generatesSchemasWithTools: Bool { models.allSatisfy(\.generatesSchemasWithTools) }

    public var availability: Availability {
        get async {
            var first: Availability?
            for model in models {
                let availability = await model.availability
                if availability == .available { return .available }
                first = first ?? availability
            }
            return first ?? .unavailable(.other("no model was given"))
        }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let course = Course(models, last, request)
        return AsyncThrowingStream { try await course.nextEvent() }
    }

    public func prewarm(_ request: GenerationRequest) async {
        for model in models where await model.isAvailable {
            return await model.prewarm(request)
        }
    }

    public func forget(_ message: AIMessage) async {
        for model in models {
            await model.forget(message)
        }
    }

    private actor Course {
        private let models: [any LLM]
        private let last: Lock<Int?>
        private let request: GenerationRequest
        /// The index of the next model.
        private var next = 0
        private var stream: AsyncThrowingStream<GenerationEvent, any Error>?
        private var hasBegun = false
        private var failure = LLMError.unavailable(.other("no model was given"))

        init(_ models: [any LLM], _ last: Lock<Int?>, _ request: GenerationRequest) {
            self.models = models
            self.last = last
            self.request = request
        }

        func nextEvent() async throws -> GenerationEvent? {
            while true {
                if let stream {
                    do {
                        let event = try await stream.nextElement()
                        // A model that waits may still fail.
                        if case .waiting? = event { return event }
                        if !hasBegun { last.withLock { $0 = next - 1 } }
                        hasBegun = true
                        return event
                    } catch let error as LLMError where !hasBegun && error.permitsFallback {
                        failure = error
                        self.stream = nil
                        last.withLock { if $0 == next - 1 { $0 = nil } }
                    }
                }
                guard next < models.count else { throw failure }
                let model = models[next]
                let isTrusted = last.withLock { $0 } == next
                next += 1
                switch isTrusted ? .available : await model.availability {
                case .available: stream = model.events(for: request)
                case .unavailable(let reason): failure = .unavailable(reason)
                case .downloading: failure = .unavailable(.modelNotReady)
                }
            }
        }
    }
}

extension LLMError {
    /// Whether another model may succeed with the same request.
    fileprivate var permitsFallback: Bool {
        switch self {
        case .unavailable, .unauthorized, .rateLimited, .failed, .connectionLost, .malformed: true
        default: false
        }
    }
}
