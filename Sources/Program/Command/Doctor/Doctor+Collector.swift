import ChatterdConfiguration
import ChatterdServer
import ChatterdSockets

extension Doctor {
    /// Whether the collector of traces takes spans; none without tracing.
    static func collector(_ tracing: Configuration.Tracing) async -> [Check] {
        guard let endpoint = tracing.endpoint else { return [] }
        let subject = "collector of traces \(SettingText.excerpt(endpoint.url))"
        let answer: Collector.Answer?
        do {
            answer = await Collector.probe(tracing, on: try Shard(index: 0))
        } catch {
            return [
                .doubtful(
                    .collector, of: subject, "it cannot be asked: \(error)", advice: "raise the limit on open files")
            ]
        }
        guard let answer, let problem = answer.problem else {
            return [.fine(.collector, of: subject, "it takes spans as JSON")]
        }
        var advice =
            "start it, or name its port for OTLP over HTTP (usually 4318) in \(Setting.collector.name): spans are dropped, and prompts do not wait"
        if case .refused(let status, _) = answer {
            advice =
                [401, 403].contains(status)
                ? "correct \(Setting.collectorFields.name): spans are dropped"
                : "correct the URL: /v1/traces follows that of \(Setting.collector.name), but not that of \(Setting.traceCollector.name)"
        }
        return [.doubtful(.collector, of: subject, problem, advice: advice)]
    }
}
