import ChatterClient
import ChatterdBasics

/// Reads one answer of a model server: the request is made for the first event, and the connection is closed with the last reference.
actor AnswerReader<Decoder: AnswerDecoder> {
    private let server: ModelServer
    private let request: ClientRequest
    private var decoder: Decoder
    private var body: ResponseBody?
    private var events: ArraySlice<GenerationEvent> = []
    private var failure: LLMError?

    init(_ server: ModelServer, _ request: ClientRequest, _ decoder: Decoder) {
        self.server = server
        self.request = request
        self.decoder = decoder
    }

    func next() async throws(LLMError) -> GenerationEvent? {
        while true {
            if let event = events.popFirst() { return event }
            if let failure { throw failure }
            guard !decoder.isOver else { return nil }
            do throws(LLMError) {
                try await advance()
            } catch {
                body = nil
                failure = error
            }
        }
    }

    private func advance() async throws(LLMError) {
        guard let body else {
            body = try await server.body(of: request)
            return
        }
        let bytes: [UInt8]?
        do throws(ChatterError) {
            bytes = try await body.next()
        } catch {
            throw LLMError(error)
        }
        if let bytes {
            try decoder.receive(bytes.readable, &events)
        } else {
            try decoder.end(&events)
        }
        if decoder.isOver { self.body = nil }
    }
}
