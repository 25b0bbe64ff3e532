import ChatterdConfiguration
import ChatterdServer
import ChatterdSockets

extension Doctor {
    /// Whether the collector of traces takes spans; none without tracing.
    static func collector(_ tracing: Configuration.Tracing) async -> [Check] {
        guard let endpoint = tracing.endpoint else { return [] }
        let subject = "collector of traces \(SettingText.excerpt(endpoint.url))"
        do {
            guard let answer = await Collector.probe(tracing, on: try Shard(index: 0)), let problem = answer.problem
            else { return [.fine(.collector, of: subject, "it takes spans as JSON")] }
            return [
                .doubtful(
                    .collector, of: subject, problem,
                    advice: "\(advice(on: answer)); meanwhile spans are dropped, and prompts do not wait for it")
            ]
        } catch {
            let finding = "it cannot be asked: \(error)"
            return [.doubtful(.collector, of: subject, finding, advice: "raise the limit on open files")]
        }
    }

    private static func advice(on answer: Collector.Answer) -> String {
        switch answer {
        case .refused(let reason, _), .unavailable(let reason, _): advice(on: reason)
        case .taken: "see its log"
        }
    }

    private static func advice(on reason: Collector.Reason) -> String {
        let url = "\(Setting.collector.name), which /v1/traces follows, or \(Setting.traceCollector.name)"
        return switch reason {
        case .status(401), .status(403): "correct \(Setting.collectorFields.name)"
        case .status(404), .status(405), .status(300..<400): "correct \(url)"
        case .status(415): "name a receiver that takes OTLP over HTTP as JSON"
        case .status, .silence: "see its log"
        case .form: "name its port for OTLP over HTTP (usually 4318; 4317 is that of gRPC) in \(url)"
        case .address: "start it, or correct \(url)"
        case .certificate: "correct its certificate, or name its authorities in \(Setting.collectorAuthorities.name)"
        }
    }
}
