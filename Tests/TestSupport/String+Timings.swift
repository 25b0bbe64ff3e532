extension String {
    /// The text without the times and counts that chatterd adds to last events: `ttft_ms`, `queue_ms` and `attempts`.
    public var withoutTimings: String {
        replacing(/,("ttft_ms":\d+,)?"queue_ms":\d+,"attempts":\d+/, with: "")
    }
}
