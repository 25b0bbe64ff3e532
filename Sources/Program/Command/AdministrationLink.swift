import ChatterdHTTP

/// A fragment that opens the page with an administrator's credential, if it follows the address of the page. Browsers send no fragments to
/// servers.
struct AdministrationLink: CustomStringConvertible {
    private let credential: String

    init(_ credential: String) {
        self.credential = credential
    }

    var description: String { "#/administer/\(PathEncoding.segment(credential))" }
}
