import ChatterdHTTP

/// The course of reading an event stream over any number of connections, as a value without I/O.
protocol ResumableRun: Sendable {
    associatedtype Event: Sendable

    /// Whether the last event has come.
    var isOver: Bool { get }
    /// The request of the next connection.
    mutating func request() throws(ChatterError) -> ClientRequest
    /// The head of a successful response has come.
    mutating func connected(_ response: ResponseHead) throws(ChatterError) -> [Event]
    /// Bytes of the body have come. Appends their events, those before an error too.
    ///
    /// - Throws: an error that the stream reports, or `malformed`.
    mutating func received(_ bytes: Span<UInt8>, _ events: inout ArraySlice<Event>) throws(ChatterError)
    /// The request or the connection has failed. Returns the delay before the next attempt.
    ///
    /// - Throws: the error, if there is none.
    mutating func failed(_ error: ChatterError) throws(ChatterError) -> (wait: Duration, events: [Event])
}

extension EventDecoder {
    /// Finds the next event, as `next` does.
    mutating func nextEvent(_ bytes: Span<UInt8>, from index: inout Int) throws(ChatterError) -> Bool {
        do throws(HTTPError) {
            return try next(bytes, from: &index)
        } catch {
            throw .malformed("The server sent an event stream that cannot be read: \(error.message)")
        }
    }
}
