extension LanguageModelSession {
    /// A whole reply.
    public struct Response<Content: Generable>: Sendable {
        public let content: Content
        /// The answer as JSON; of a text, the text.
        public let rawContent: GeneratedContent
        /// What the reply added to the transcript: the prompt, tools, the answer.
        public let transcriptEntries: ArraySlice<Transcript.Entry>
    }

    /// A reply while it is generated: each element is the value so far. The request begins with the first element that is awaited. It ends with
    /// the reply, or when the stream and its iterators are released.
    public struct ResponseStream<Content: Generable>: AsyncSequence, Sendable {
        public typealias Element = Snapshot

        /// The value so far.
        public struct Snapshot: Sendable {
            public let content: Content.PartiallyGenerated
            /// The JSON so far; of a text, the text.
            public let rawContent: GeneratedContent
        }

        /// All iterators of a stream read the same reply.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let snapshot: @Sendable () async throws -> Snapshot?

            public func next() async throws -> Snapshot? {
                try await snapshot()
            }
        }

        private let snapshot: @Sendable () async throws -> Snapshot?
        private let whole: @Sendable () async throws -> Response<Content>

        init(value course: ResponseCourse<Answer<Content>>) {
            snapshot = {
                while let event = try await course.next() {
                    if case .snapshot(let partial) = event {
                        return Snapshot(content: partial.content, rawContent: GeneratedContent(content: partial.raw))
                    }
                }
                return nil
            }
            whole = { try await Response(course) }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(snapshot: snapshot)
        }

        /// The whole reply, after its end.
        public func collect() async throws -> Response<Content> {
            try await whole()
        }
    }
}

extension LanguageModelSession.ResponseStream where Content == String {
    init(text course: ResponseCourse<String>) {
        snapshot = {
            while let event = try await course.next() {
                if case .snapshot(let text) = event {
                    return Snapshot(content: text, rawContent: GeneratedContent(text))
                }
            }
            return nil
        }
        whole = { try await LanguageModelSession.Response(text: course) }
    }
}

extension LanguageModelSession.Response {
    init(_ course: ResponseCourse<Answer<Content>>) async throws {
        let (reply, entries) = try await course.reply()
        self.init(
            content: reply.content.content, rawContent: GeneratedContent(content: reply.content.raw),
            transcriptEntries: entries)
    }
}

extension LanguageModelSession.Response where Content == String {
    init(text course: ResponseCourse<String>) async throws {
        let (reply, entries) = try await course.reply()
        self.init(content: reply.content, rawContent: GeneratedContent(reply.content), transcriptEntries: entries)
    }
}
