extension Configuration {
    /// Timeouts that operators cannot change, kept short because a caller is waiting. Tests on a busy machine extend them.
    public struct FixedTimeouts: Sendable, Equatable {
        /// Time for a model server to list its models.
        public var modelListing = Duration.seconds(2)
        /// Time for the database to answer `/readyz`: less than the store's own timeout, as probes give up early.
        public var readiness = Duration.seconds(2)
        /// Time for a collector to take the spans that wait when the process stops.
        public var lastSpans = Duration.seconds(2)

        /// Creates the timeouts of the product.
        public init() {}
    }
}
