import ChatterClient

extension Console {
    /// Writes an error to standard error, and what helps against it.
    func report(_ error: ChatterError) {
        report(error.message)
        switch error {
        case .unreachable: note("chatter: CHATTER_URL or --url names the server; chatterd serve --dev starts one here")
        case .unauthorized: note("chatter: CHATTER_KEY is the key; an administrator makes one with chatter keys create")
        case .busy(let server):
            if let delay = server.retryAfter {
                note("chatter: try again in \(delay.components.seconds) s")
            }
        default: break
        }
    }
}
