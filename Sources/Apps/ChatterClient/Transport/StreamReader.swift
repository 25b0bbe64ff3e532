import ChatterdBasics

/// Reads an event stream for as long as its run wants: connects, waits, connects again.
actor StreamReader<Run: ResumableRun> {
    private let make: @Sendable () throws(ChatterError) -> Run
    private let client: ChatterClient
    private var run: Run?
    private var body: ResponseBody?
    /// Events that are not delivered yet.
    private var events: ArraySlice<Run.Event> = []
    /// The delay before the next connection.
    private var wait = Duration.zero
    /// The error after the events.
    private var failure: ChatterError?

    init(_ client: ChatterClient, _ make: @escaping @Sendable () throws(ChatterError) -> Run) {
        self.client = client
        self.make = make
    }

    /// The next event; `nil` after the last one.
    func next() async throws(ChatterError) -> Run.Event? {
        while true {
            if let event = events.popFirst() { return event }
            if let failure { throw failure }
            var run = if let run { run } else { try make() }
            guard !run.isOver else { return nil }
            do throws(ChatterError) {
                try await advance(&run)
            } catch {
                body = nil
                do throws(ChatterError) {
                    guard error != .cancelled else { throw error }
                    let retry = try run.failed(error)
                    wait = retry.wait
                    events += retry.events
                } catch {
                    failure = error
                }
            }
            self.run = run
        }
    }

    private func advance(_ run: inout Run) async throws(ChatterError) {
        guard let body else {
            if wait > .zero {
                do { try await Task.sleep(for: wait) } catch { throw .cancelled }
                wait = .zero
            }
            let response = try await client.response(to: run.request())
            self.body = response.body
            events += try run.connected(response.head)
            return
        }
        guard let bytes = try await body.next() else {
            throw .connectionLost("The server closed the connection before the end.")
        }
        try run.received(bytes.readable, &events)
    }
}
