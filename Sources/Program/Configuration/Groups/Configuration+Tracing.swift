import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdTracing

extension Configuration {
    /// Where spans of traces are sent, and which: the variables that OpenTelemetry names.
    public struct Tracing: Sendable {
        /// The collector.
        public struct Endpoint: Sendable {
            public let origin: Origin
            public let path: String
            public internal(set) var fields = Fields()

            /// The whole URL, which has no secret.
            public var url: String { "\(origin)\(origin.basePath)\(path)" }
        }

        /// The words of `OTEL_TRACES_SAMPLER`.
        enum SamplerName: String, CaseIterable, Sendable {
            case all = "always_on"
            case none = "always_off"
            case share = "traceidratio"
            case parentOrAll = "parentbased_always_on"
            case parentOrNone = "parentbased_always_off"
            case parentOrShare = "parentbased_traceidratio"
        }

        /// The words of `OTEL_EXPORTER_OTLP_PROTOCOL` that chatterd takes. It sends JSON; a receiver for HTTP tells the two by their type.
        private static let wireProtocols = ["http/json", "http/protobuf"]

        /// The limit of the attributes of the process, and of the fields for the collector.
        static let maximumAttributes = 64

        /// The limit of an attempt to send a batch.
        public internal(set) var timeout = Duration.seconds(10)
        /// A PEM file of authorities for the certificate of the collector, beside those of the system; `nil` for those alone.
        public internal(set) var authorities: String?
        /// The pause between two batches, unless one is full.
        public internal(set) var delay = Duration.seconds(5)
        /// The limit of spans that wait.
        public internal(set) var queueSize = 2_048
        /// The limit of spans in a batch.
        public internal(set) var batchSize = 512

        private var target: Endpoint?
        private var fields = Fields()
        private var serviceName: String?
        private var attributes: [(key: String, value: String)] = []
        private var wireProtocol = "http/json"
        var samplerName = SamplerName.parentOrAll
        var share = 1.0
        private var exporter = "otlp"
        private var isDisabled = false

        /// The collector; `nil` without tracing.
        public var endpoint: Endpoint? {
            guard !isDisabled, exporter == "otlp", samplerName != .none, var target else { return nil }
            target.fields = fields
            return target
        }

        /// The traces whose spans are recorded.
        public var sampler: Sampler {
            switch samplerName {
            case .all: .always(.all)
            case .none: .always(.none)
            case .share: .always(.share(share))
            case .parentOrAll: .byParent(else: .all)
            case .parentOrNone: .byParent(else: .none)
            case .parentOrShare: .byParent(else: .share(share))
            }
        }

        /// The attributes of the process.
        public var resource: [(key: String, value: String)] {
            let name = serviceName ?? attributes.first { $0.key == "service.name" }?.value ?? "chatterd"
            return [("service.name", name)] + attributes.filter { $0.key != "service.name" }
        }
    }
}

extension Configuration.Tracing {
    /// Sets the collector to the URL of all its signals, which is followed by `/v1/traces`.
    mutating func setBase(_ text: String) throws(SettingProblem) {
        target = Endpoint(origin: try Self.origin(text), path: "/v1/traces")
    }

    /// Sets the collector to the URL of traces.
    mutating func setURL(_ text: String) throws(SettingProblem) {
        let origin = try Self.origin(text)
        target = Endpoint(origin: origin.at(""), path: origin.basePath.isEmpty ? "/" : origin.basePath)
    }

    private static func origin(_ text: String) throws(SettingProblem) -> Origin {
        do throws(HTTPClientError) {
            return try Origin(parsing: text)
        } catch {
            throw SettingProblem(
                "\(error.message); an example is http://127.0.0.1:4318, and keys belong in \(Setting.collectorFields.name)"
            )
        }
    }

    /// Sets the fields of requests to the collector: `name=value,name=value`, with values that are encoded as in URLs.
    mutating func setFields(_ text: String) throws(SettingProblem) {
        fields = Fields()
        for (name, value) in try Self.pairs(text) {
            guard let name = FieldName(name), let value = FieldValue(validating: value) else {
                throw SettingProblem("one of its names or values cannot be a header field")
            }
            fields.add(name, value)
        }
    }

    /// Sets the attributes of the process, in the form of `setFields`.
    mutating func setAttributes(_ text: String) throws(SettingProblem) {
        attributes = try Self.pairs(text)
    }

    mutating func setServiceName(_ text: String) throws(SettingProblem) {
        try Self.requireNoControls(text)
        serviceName = text
    }

    mutating func setProtocol(_ text: String) throws(SettingProblem) {
        try Self.requireNoControls(text)
        wireProtocol = text
    }

    mutating func setExporter(_ text: String) throws(SettingProblem) {
        try Self.requireNoControls(text)
        exporter = text
    }

    /// Sets whether nothing is traced: for `true` in any case, as OpenTelemetry has it.
    mutating func setDisabled(_ text: String) throws(SettingProblem) {
        try Self.requireNoControls(text)
        isDisabled = text.lowercased() == "true"
    }

    private static func requireNoControls(_ text: String) throws(SettingProblem) {
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) else {
            throw SettingProblem("it has a control character")
        }
    }

    /// Sets the sampler to the one that OpenTelemetry calls so.
    mutating func setSampler(_ text: String) throws(SettingProblem) {
        guard let name = SamplerName(rawValue: text) else {
            throw SettingText.noChoice(text, of: SamplerName.allCases.map(\.rawValue))
        }
        samplerName = name
    }

    mutating func setShare(_ text: String) throws(SettingProblem) {
        guard let share = Double(text), 0...1 ~= share else {
            throw SettingProblem("\"\(SettingText.excerpt(text))\" is not a number from 0 to 1")
        }
        self.share = share
    }

    private static func pairs(_ text: String) throws(SettingProblem) -> [(key: String, value: String)] {
        var pairs: [(key: String, value: String)] = []
        let elements = SettingText.list(text)
        guard elements.count <= maximumAttributes else { throw SettingProblem("more than \(maximumAttributes) names") }
        for element in elements {
            let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw SettingProblem("not a list such as name=value,name=value")
            }
            let (key, value) = (String(parts[0]), String(parts[1]).percentDecoded)
            try requireNoControls(value)
            // Of two equal names the last one counts.
            pairs.removeAll { $0.key == key }
            pairs.append((key, value))
        }
        return pairs
    }

    /// Checks values that depend on each other. Without a collector, variables that others on the machine need do not matter.
    func complete(_ reader: inout SettingReader) {
        guard target != nil else { return }
        if !Self.wireProtocols.contains(wireProtocol) {
            reader.report(
                "\(Setting.collectorProtocol.name) is \(SettingText.excerpt(wireProtocol)), and chatterd sends JSON over HTTP: set "
                    + "\(Setting.traceCollectorProtocol.name)=http/json, and the port of OTLP over HTTP (usually 4318)")
        }
        if exporter != "otlp", exporter != "none" {
            reader.report(
                "\(Setting.traceExporter.name) is \(SettingText.excerpt(exporter)), and chatterd has otlp and none only"
            )
        }
        if batchSize > queueSize {
            reader.report(
                "\(Setting.spanBatch.name) is \(batchSize), more than \(Setting.spanQueue.name), which is \(queueSize)")
        }
    }
}
