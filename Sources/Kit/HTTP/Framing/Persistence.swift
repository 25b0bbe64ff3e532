/// Whether a connection outlives a message, RFC 9112 section 9.3.
extension RequestHead {
    /// Whether the client wants to send another request on the connection.
    public var wantsPersistence: Bool { fields.wantPersistence(in: version) }

    /// The expectation of the client before it sends the body, RFC 9110 10.1.1.
    ///
    /// An unknown expectation throws, to be answered with 417.
    public func expectsContinue() throws(HTTPError) -> Bool {
        // A client of HTTP/1.0 would mistake the interim response for the final one.
        guard fields.contains(.expect), version == .http11 else { return false }
        guard fields.elements(of: .expect).allSatisfy({ Grammar.equals($0, lowercase: "100-continue") }) else {
            throw HTTPError(.unknownExpectation)
        }
        return true
    }
}

extension ResponseHead {
    /// Whether the server lets another request follow on the connection.
    public var allowsPersistence: Bool { fields.wantPersistence(in: version) }
}

extension Fields {
    fileprivate func wantPersistence(in version: Version) -> Bool {
        if listContains("close", in: .connection) {
            return false
        }
        return version == .http11 || listContains("keep-alive", in: .connection)
    }
}
