import ChatterdChat
import ChatterdModelServers

extension Configuration {
    /// The model servers, and the limits of answers.
    public struct Upstreams: Sendable {
        /// The model servers of the environment, in their order of preference.
        public internal(set) var list: [UpstreamDescription] = []
        /// The Ollama of `OLLAMA_URL`, or the default one.
        var ollama: UpstreamURL?
        /// Whether `CHATTERD_ECHO` adds the built-in model.
        var offersEcho = false
        /// Whether `CHATTERD_ECHO` turns the built-in model off, for `serve --dev` too.
        public internal(set) var refusesEcho = false
        /// Idle connections kept for each model server and shard.
        public var connections = 1_024
        /// The limits of a model server whose description does not state its own.
        public var defaults = UpstreamReader.Defaults()
        /// The keys of the model servers.
        public internal(set) var keys = UpstreamKeys()
        /// The directory below which requests may name files; `nil` if they may name none.
        public var keyDirectory: String?
        /// The bearer token for changes of the list of model servers; `nil` if it cannot be changed.
        public var adminToken: ConfigurationSecret?
        /// The model of a prompt that names none.
        public var defaultModel: String?

        /// The built-in model with its variants, for a server whose model servers do not answer.
        public static var echo: UpstreamDescription {
            var echo = UpstreamDescription(name: "echo", kind: .echo)
            echo.models = EchoVariant.allCases.map(\.modelName)
            return echo
        }

        /// Adds the built-in model. Leaves the list unchanged if `CHATTERD_ECHO` refuses it or the list has a model of its kind.
        public mutating func offerEcho() {
            guard !refusesEcho, !list.contains(where: { $0.kind == .echo }) else { return }
            list.append(Self.echo)
        }
    }
}

extension Configuration.Upstreams {
    mutating func addList(_ text: String) throws(SettingProblem) {
        let read = UpstreamList(text, defaults: defaults)
        list += read.upstreams
        guard read.problems.isEmpty else { throw SettingProblem(read.problems) }
    }

    mutating func setDefaultModel(_ name: String) throws(SettingProblem) {
        guard ModelName.isValid(name) else {
            throw SettingProblem(
                "must be the name of a model: at most \(ModelName.maximumLength) bytes, without control characters")
        }
        defaultModel = name
    }

    mutating func setAdminToken(_ token: String) throws(SettingProblem) {
        guard UpstreamKeys.isKey(token), token.utf8.count >= 16 else {
            throw SettingProblem("must be at least 16 visible ASCII characters")
        }
        adminToken = ConfigurationSecret(token)
    }
}

extension Configuration.Upstreams {
    /// Puts the model servers of all variables into the list, and reports a name that occurs twice.
    ///
    /// - Parameter environment: the variables that may hold keys.
    mutating func complete(_ reader: inout SettingReader, environment: [String: String]) {
        let listed = list
        list = []
        // CHATTERD_UPSTREAMS replaces the default Ollama, but not one that OLLAMA_URL names.
        if let ollama, reader.isSet(.ollama) || !reader.isSet(.upstreams) {
            var description = UpstreamDescription(name: "ollama", kind: .ollama, url: ollama.description)
            description.connectTimeout = defaults.connectTimeout
            description.limits = defaults.limits
            list.append(description)
        }
        list += listed
        if offersEcho {
            list.append(Self.echo)
        }
        refusesEcho = reader.isSet(.echo) && !list.contains(Self.echo)
        keys = UpstreamKeys(environment: environment, own: list, readFile: reader.readFile)
        checkNames(&reader)
    }

    private func checkNames(_ reader: inout SettingReader) {
        // An administrator can add model servers later.
        if list.isEmpty, adminToken == nil, reader.problems.isEmpty {
            reader.report("\(Setting.upstreams.name) lists no model server")
        }
        var names: Set<String> = []
        for upstream in list where !names.insert(upstream.name).inserted {
            reader.report(
                "\(Setting.upstreams.name): the name \"\(upstream.name)\" is taken twice; OLLAMA_URL takes "
                    + "\"ollama\" and CHATTERD_ECHO takes \"echo\"")
        }
    }
}
