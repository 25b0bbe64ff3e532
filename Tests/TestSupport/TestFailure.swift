/// Why a helper could not do what a test asked of it.
public struct TestFailure: Error, CustomStringConvertible, Sendable {
    /// What happened, in words.
    public let description: String

    /// Fails with a sentence.
    public init(_ description: String) {
        self.description = description
    }
}

/// Guards against a test that would hang for ever; no test passes or fails by how long something took.
///
/// On one core, beside others and under a sanitizer, a test may wait for minutes until it is its turn.
public let patience: Double = 480
