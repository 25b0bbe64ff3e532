/// The part of an address behind the host that opens the page with an administrator's credential. Browsers do not send a fragment to a server.
struct AdministrationLink: CustomStringConvertible {
    private let credential: String

    init(_ credential: String) {
        self.credential = credential
    }

    var description: String { "/#/administer/\(credential)" }
}
