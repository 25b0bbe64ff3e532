import ChatterdHTTP

/// What behind the address of the page opens it with an administrator's credential. Browsers do not send a fragment to a server.
struct AdministrationLink: CustomStringConvertible {
    private let credential: String

    init(_ credential: String) {
        self.credential = credential
    }

    var description: String { "#/administer/\(PathEncoding.segment(credential))" }
}
