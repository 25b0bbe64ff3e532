import ChatterdBasics
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// `chatterd doctor --through URL`: asks a model at the address of clients, and measures when the pieces of its answer arrive. It removes the
/// conversation afterwards.
struct StreamCheck: Sendable {
    /// The limit of the answer, which is short: a model may have to be loaded.
    private static let timeLimit = Duration.seconds(120)
    private static let sizeLimit = 1 << 20
    /// The delay from which on something on the way holds pieces back. The model `echo` needs several seconds for the prompt.
    private static let longestDelay = Duration.seconds(1)
    /// The number of streams that must be held back: a machine that stands still for a moment holds one back too.
    private static let attempts = 3
    private static let prompt = (1...24).map(String.init).joined(separator: " ")
    private static let app = "chatterd-doctor"

    private let stream: DoctorRequest.Stream
    private let conversation = "doctor-" + String(UInt64.random(in: .min ... .max), radix: 16)

    init(_ stream: DoctorRequest.Stream) {
        self.stream = stream
    }

    private var subject: String { "through \(stream.url)" }

    func run() async -> Doctor.Check {
        do {
            let key = try stream.keyFile.map(Self.readKey)
            let origin = try Origin(parsing: stream.url.description)
            let shard = try Shard(index: 0)
            return await Task(executorPreference: shard) {
                var limits = HTTPClientLimits()
                limits.idleConnections = 0
                let client = HTTPClient(shard: shard, limits: limits)
                let check = await check(client, origin, key, on: shard)
                await removeConversation(client, origin, key, on: shard)
                return check
            }.value
        } catch let error as UsageError {
            return .wrong(.through, of: subject, error.description, advice: "correct --key-file")
        } catch {
            return .wrong(.through, of: subject, "\(error)", advice: "correct the URL")
        }
    }

    private static func readKey(_ path: String) throws(UsageError) -> ConfigurationSecret {
        switch ConfigurationFile.read(path) {
        case .success(let text): return ConfigurationSecret(String(text.prefix { !$0.isNewline }))
        case .failure(let failure): throw UsageError("\(SettingText.excerpt(path)) cannot be read: \(failure.reason)")
        }
    }

    /// Asks until a stream is not held back.
    private func check(
        _ client: HTTPClient, _ origin: Origin, _ key: ConfigurationSecret?, on shard: Shard
    ) async -> Doctor.Check {
        var check = await checkOnce(client, origin, key, on: shard)
        for _ in 1..<Self.attempts where check.isHeldBack {
            check = await checkOnce(client, origin, key, on: shard)
        }
        return check.result
    }

    private func checkOnce(
        _ client: HTTPClient, _ origin: Origin, _ key: ConfigurationSecret?, on shard: Shard
    ) async -> (result: Doctor.Check, isHeldBack: Bool) {
        let arrivals = Arrivals()
        let began = Shard.readClock()
        let outcome = await CollectedExchange.run(
            request(key), to: origin, client: client, on: shard, upTo: Self.sizeLimit, within: Self.timeLimit
        ) { _, piece in
            arrivals.add(piece.count)
            return false
        }
        switch outcome {
        case .failure(let failure):
            return (broken(failure, after: Shard.readClock() - began, arrivals.list.isEmpty), false)
        case .success(let answer):
            guard answer.head.status == .ok, answer.head.fields.mediaType == .eventStream else {
                return (refused(answer), false)
            }
            guard !answer.head.fields.contains(.contentEncoding) else { return (compressed, false) }
            let timing = StreamTiming(answer.body.array, arrivals.list)
            return measured(timing, firstAfter: (arrivals.list.first?.instant ?? began) - began)
        }
    }

    /// When the pieces of a body arrived.
    private final class Arrivals {
        var list: [StreamTiming.Arrival] = []

        func add(_ count: Int) {
            list.append(StreamTiming.Arrival(end: (list.last?.end ?? 0) + count, instant: Shard.readClock()))
        }
    }

    // MARK: - Requests

    private func request(_ key: ConfigurationSecret?) -> OutgoingRequest {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                // A key has the name of its app.
                json.member("appID", key == nil ? Self.app : nil)
                json.member("conversation", conversation)
                json.member("model", stream.model)
                json.array("messages") { json in
                    json.object { json in
                        json.member("role", "user")
                        json.member("content", Self.prompt)
                    }
                }
            }
        }
        return OutgoingRequest(.post, "/llmchat", fields: fields(key), body: body.array)
    }

    private func removeConversation(
        _ client: HTTPClient, _ origin: Origin, _ key: ConfigurationSecret?, on shard: Shard
    ) async {
        let app = key == nil ? "?appID=\(Self.app)" : ""
        // A server that has refused the prompt has nothing to remove.
        _ = await CollectedExchange.run(
            OutgoingRequest(.delete, "/conversations/\(conversation)\(app)", fields: fields(key)), to: origin,
            client: client, on: shard, upTo: Self.sizeLimit, within: CommandProbe.limit)
    }

    private func fields(_ key: ConfigurationSecret?) -> Fields {
        // As browsers do.
        var fields: Fields = [.contentType: "application/json", .acceptEncoding: "gzip"]
        if let value = key.flatMap({ FieldValue(validating: "Bearer \($0.value)") }) {
            fields.set(.authorization, value)
        }
        return fields
    }

    // MARK: - Findings

    private func broken(
        _ failure: CollectedExchange.Failure, after time: Duration, _ isEmpty: Bool
    ) -> Doctor.Check {
        let words =
            switch failure {
            case .timedOut: isEmpty ? "no piece of an answer arrived" : "the answer did not end"
            case .tooLarge: "the answer is longer than \(Self.sizeLimit) bytes: is it chatterd?"
            case .failed(let error): error.message
            }
        return .wrong(
            .through, of: subject, "\(words) (after \(time.inTenths))",
            advice: isEmpty
                ? "is the URL that of clients, and does the proxy reach chatterd?"
                : "give the proxy timeouts of 35 minutes, as deploy/nginx.conf does (proxy_read_timeout)")
    }

    private func refused(_ answer: CollectedExchange.Response) -> Doctor.Check {
        let body = answer.body.array
        let words = JSONStrings.member("error", of: body).map { ": \(SettingText.excerpt($0))" } ?? ""
        let advice =
            switch answer.head.status.code {
            case 401: "give the key of an app in a file: --key-file PATH"
            case 403: "set CHATTERD_ACCESS: without it chatterd refuses what a proxy passes on"
            case 404: "offer the built-in model with CHATTERD_ECHO=1, or name another one with --model"
            case 421: "add the name to CHATTERD_HOSTS, and have the proxy pass Host on"
            case 502, 503, 504: "ask chatterd itself: `chatterd health --ready`, and see the log of the proxy"
            default: "is the URL that of clients?"
            }
        return .wrong(
            .through, of: subject, "a prompt gets status \(answer.head.status.code) in place of a stream\(words)",
            advice: advice)
    }

    private var compressed: Doctor.Check {
        .doubtful(
            .through, of: subject, "something on the way compresses streams, which may hold pieces back",
            advice: "switch compression off for text/event-stream: a stream says no-transform in Cache-Control")
    }

    private func measured(
        _ timing: StreamTiming, firstAfter first: Duration
    ) -> (result: Doctor.Check, isHeldBack: Bool) {
        if let error = timing.error {
            return (
                .wrong(
                    .through, of: subject, "the answer ends with an error: \(SettingText.excerpt(error))",
                    advice: "see the log of chatterd, or name another model with --model"), false
            )
        }
        guard timing.isComplete else {
            return (
                .wrong(
                    .through, of: subject, "the stream was cut after \(timing.events) events",
                    advice: "see the log of the proxy: a limit of time or size ends streams"), false
            )
        }
        guard timing.delay < Self.longestDelay else {
            return (
                .wrong(
                    .through, of: subject,
                    "something on the way buffers streams: it holds pieces back for \(timing.delay.inTenths)",
                    advice: """
                        switch buffering off for streams, and compression too: nginx `proxy_buffering off` and no \
                        proxy_ignore_headers X-Accel-Buffering, Caddy `flush_interval -1`, Apache `flushpackets=on`; \
                        see docs/operating.md, Behind a proxy
                        """), true
            )
        }
        return (
            .fine(
                .through, of: subject,
                "\(timing.events) events arrive as they are made: the first after \(first.inTenths), the longest gap \(timing.longestGap.inTenths)"
            ), false
        )
    }
}
