extension Doctor {
    /// The result of one check.
    public struct Check: Sendable, Equatable, CustomStringConvertible {
        /// The thing checked.
        public let subject: String
        /// Whether the check has passed.
        public let isFine: Bool
        public let finding: String
        /// The advice after a failure.
        public let advice: String

        /// A check that has passed.
        public static func fine(_ subject: String, _ finding: String) -> Check {
            Check(subject: subject, isFine: true, finding: finding, advice: "")
        }

        /// A check that has failed.
        public static func wrong(_ subject: String, _ finding: String, advice: String) -> Check {
            Check(subject: subject, isFine: false, finding: finding, advice: advice)
        }

        /// One line.
        public var description: String {
            isFine ? "ok    \(subject): \(finding)" : "FAIL  \(subject): \(finding); \(advice)"
        }
    }
}
