/// Why serving failed, in words for the operator.
struct ServeFailure: Error {
    let description: String
}
