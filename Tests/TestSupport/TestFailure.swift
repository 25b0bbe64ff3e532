/// The failure of a helper.
public struct TestFailure: Error, CustomStringConvertible, Sendable {
    /// The failure as a sentence.
    public let description: String

    /// Creates a failure from a sentence.
    public init(_ description: String) {
        self.description = description
    }
}

/// The timeout in seconds after which a hanging test fails. No test depends on the duration of an operation otherwise.
///
/// On one core, beside other tests and under a sanitizer, a test may wait for minutes until it runs.
public let testTimeout: Double = 480
