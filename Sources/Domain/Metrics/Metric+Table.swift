extension Metric {
    /// The row of the table. `families` keeps it.
    var declaration: MetricFamily {
        switch self {
        case .build:
            .gauge(
                "chatterd_build_info", "The version of the program and its newest migration; always 1.", "version",
                "schema")
        case .processCPU:
            .counter("process_cpu_seconds_total", "CPU time of the process, user and system.", in: .seconds)
        case .processMemory:
            .gauge("process_resident_memory_bytes", "Resident memory of the process.", in: .bytes)
        case .processOpenFiles: .gauge("process_open_fds", "Open file descriptors of the process.")
        case .processMaxFiles: .gauge("process_max_fds", "The limit of open file descriptors.")
        case .processStart:
            .gauge("process_start_time_seconds", "When the process began, since 1970.", in: .seconds)
        case .eventLoopDelay:
            .gauge(
                "chatterd_event_loop_delay_seconds", "How long an event loop took to begin the work of this scrape.",
                in: .seconds, "shard")
        case .limitUsage:
            .gauge(
                "chatterd_limit_usage_ratio", "How much of a limit is in use: 1 is all of it.", in: .ratio, "limit")

        case .requests:
            .counter(
                "chatterd_http_requests_total", "Requests whose response has ended.", "route", "method", "status",
                "code")
        case .requestDuration:
            .histogram(
                "chatterd_http_request_duration_seconds",
                "From the first byte of a request to the end of its response, streams included.", Buckets.requests,
                "route")
        case .connections: .gauge("chatterd_http_connections", "Open connections of clients.")
        case .connectionsLimit:
            .gauge(
                "chatterd_http_connections_limit",
                "The connections that the listeners accept: CHATTERD_MAX_CONNECTIONS each.")
        case .slowReadersCut:
            .counter(
                "chatterd_slow_readers_cut_total",
                "Clients that were disconnected because they read too slowly: stalled, unsent or memory.", "reason")

        case .repliesStarted:
            .counter("chatterd_replies_started_total", "Replies that began: prompt, another or adopted.", "kind")
        case .repliesEnded:
            .counter(
                "chatterd_replies_ended_total", "Replies that ended, with the last model server that was asked.",
                "state", "code", "upstream", "model")
        case .replies: .gauge("chatterd_replies", "Running replies by what they wait for.", "phase")
        case .repliesLimit: .gauge("chatterd_replies_limit", "CHATTERD_MAX_REPLIES.")
        case .readers: .gauge("chatterd_readers", "Readers of running replies, and of feeds.", "kind")
        case .timeToFirstToken:
            .histogram(
                "chatterd_reply_time_to_first_token_seconds",
                "From the whole request to the first piece of its answer.", Buckets.firstToken, "upstream", "model")
        case .partsOfFirstToken:
            .histogram(
                "chatterd_reply_time_to_first_token_part_seconds",
                "The parts of the time to the first token: chatterd, turn, queue, retry and upstream.",
                Buckets.requests, "part", "upstream")
        case .timePerToken:
            .histogram(
                "chatterd_reply_time_per_output_token_seconds",
                "The mean time of an answer's tokens after the first one.", Buckets.tokens, "upstream", "model")
        case .replyDuration:
            .histogram(
                "chatterd_reply_duration_seconds", "From the whole request to the stored end of its answer.",
                Buckets.replies, "upstream", "model", "state")
        case .tokens:
            .counter(
                "chatterd_tokens_total", "Tokens of complete answers, as their model servers count them.", "direction",
                "upstream", "model")
        case .pieces:
            .counter("chatterd_reply_pieces_total", "Pieces of answers that arrived from model servers.")

        case .upstreamRequests:
            .counter(
                "chatterd_upstream_requests_total", "Requests to a model server that ended, by their outcome.",
                "upstream", "outcome")
        case .failovers:
            .counter(
                "chatterd_upstream_failovers_total",
                "Further requests for a reply: retried, before, continued, restarted or repaired.", "from", "to",
                "phase")
        case .upstreamUp:
            .gauge("chatterd_upstream_up", "0 while a model server cools down or cannot be asked.", "upstream")
        case .upstreamCooldown:
            .gauge(
                "chatterd_upstream_cooldown_seconds", "The time for which a model server is still asked last.",
                in: .seconds, "upstream")
        case .upstreamRunning:
            .gauge("chatterd_upstream_running", "Running requests of this process to a model server.", "upstream")
        case .upstreamSlots:
            .gauge(
                "chatterd_upstream_slots", "Slots of a model server: used by this process, and all.", "upstream",
                "state")
        case .upstreamQueue:
            .gauge("chatterd_upstream_queue", "Replies of this process that wait for a slot.", "upstream")
        case .upstreamQueueLimit:
            .gauge("chatterd_upstream_queue_limit", "The limit of the queue of all processes.", "upstream")
        case .queueWait:
            .histogram(
                "chatterd_upstream_queue_wait_seconds", "The time for which a reply waited for a slot.",
                Buckets.requests, "upstream")
        case .toolCalls:
            .counter("chatterd_tool_calls_total", "Calls of tools of the server: done or failed.", "tool", "state")
        case .toolTime:
            .histogram("chatterd_tool_call_seconds", "The time of a call of a tool.", Buckets.requests, "tool")
        case .hookCalls:
            .counter(
                "chatterd_hook_calls_total",
                "Messages to hooks, by their event: allowed, refused, replaced, delivered or failed.", "hook", "event",
                "outcome")
        case .hookTime:
            .histogram(
                "chatterd_hook_call_seconds", "The time of a message to a hook.", Buckets.requests, "hook", "event")

        case .storeConnections:
            .gauge(
                "chatterd_store_connections", "Connections to PostgreSQL: busy, idle or connecting.", "shard",
                "purpose", "state")
        case .storeConnectionsLimit:
            .gauge("chatterd_store_connections_limit", "The connections that all event loops may open.")
        case .storeWaiting:
            .gauge("chatterd_store_waiting", "Batches of statements without a connection.", "shard", "purpose")
        case .storeWaitingLimit: .gauge("chatterd_store_waiting_limit", "CHATTERD_STORE_WAITING.")
        case .storeTime:
            .histogram(
                "chatterd_store_batch_seconds", "The time of a batch of statements, with its wait for a connection.",
                Buckets.statements, "purpose")
        case .storeErrors:
            .counter(
                "chatterd_store_errors_total", "Batches of statements that failed, also for lack of a connection.",
                "code",
                "sqlstate")
        case .storeWritable: .gauge("chatterd_store_writable", "1 while the database can store prompts.")
        case .leaseAge:
            .gauge(
                "chatterd_lease_age_seconds", "The time since the last renewal of the process's lease of 8 s.",
                in: .seconds)
        case .journalUnwritten:
            .gauge("chatterd_journal_unwritten_bytes", "Text of running replies that is not stored.", in: .bytes)
        case .journalLag:
            .gauge(
                "chatterd_journal_lag_seconds", "The time since the last flush of the journal, 0 without replies.",
                in: .seconds)
        case .takeovers:
            .counter(
                "chatterd_takeovers_total",
                "Replies that changed their process: adopted, settled, handed_over or fenced.", "kind")
        case .housekeeping:
            .gauge(
                "chatterd_housekeeping_last_success_timestamp_seconds",
                "When the last round of the housekeeper succeeded, since 1970.", in: .seconds)
        case .retentionLag:
            .gauge(
                "chatterd_retention_lag_seconds",
                "How long after its time retention has removed a conversation, at most, in its last pass.",
                in: .seconds)

        case .memoryUsed: .gauge("chatterd_memory_used_bytes", "The used part of the memory budget.", in: .bytes)
        case .memoryLimit: .gauge("chatterd_memory_limit_bytes", "CHATTERD_MEMORY.", in: .bytes)
        case .memoryRefusals:
            .counter("chatterd_memory_refusals_total", "Reservations that the memory budget refused.", "use")
        case .certificateEnd:
            .gauge(
                "chatterd_certificate_not_after_timestamp_seconds",
                "When the certificate of HTTPS expires, since 1970.",
                in: .seconds)
        case .spans: .counter("chatterd_trace_spans_total", "Spans of traces: sent or dropped.", "outcome")
        }
    }
}

/// The bounds of the histograms, in seconds.
private enum Buckets {
    static let requests = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
    static let firstToken = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300]
    static let tokens = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
    static let replies = [0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1_800]
    static let statements = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
}

extension MetricFamily {
    fileprivate static func counter(
        _ name: String, _ help: String, in unit: Unit = .count, _ labels: String...
    ) -> MetricFamily {
        MetricFamily(name: name, help: help, kind: .counter, unit: unit, labels: labels)
    }

    fileprivate static func gauge(
        _ name: String, _ help: String, in unit: Unit = .count, _ labels: String...
    ) -> MetricFamily {
        MetricFamily(name: name, help: help, kind: .gauge, unit: unit, labels: labels)
    }

    /// A histogram of times, with bounds in seconds.
    fileprivate static func histogram(
        _ name: String, _ help: String, _ bounds: [Double], _ labels: String...
    ) -> MetricFamily {
        let cells = bounds.map { Int(($0 * Double(Unit.seconds.one)).rounded()) }
        return MetricFamily(name: name, help: help, kind: .histogram(cells), unit: .seconds, labels: labels)
    }
}
