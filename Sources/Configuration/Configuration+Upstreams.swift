import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers

extension Configuration.Upstreams {
    /// Reads the settings of the model servers.
    init(_ reader: inout SettingReader, environment: [String: String], readFile: @escaping ConfigurationFile.Read) {
        connections = reader.number(.upstreamConnections) ?? 0
        connectTimeout = reader.duration(.upstreamConnectTimeout)
        limits = GenerationLimits()
        limits.firstByte = reader.duration(.upstreamFirstByteTimeout)
        limits.silence = reader.duration(.upstreamSilenceTimeout)
        limits.total = reader.duration(.upstreamTotalTimeout)
        limits.line = reader.number(.upstreamLineLimit) ?? 0
        limits.answer = reader.number(.answerLimit) ?? 0
        adminToken = Self.adminToken(&reader)
        defaultModel = Self.defaultModel(&reader)
        let directory = reader.path(.keyDirectory)
        list = Self.list(
            &reader, defaults: UpstreamReader.Defaults(connectTimeout: connectTimeout, limits: limits),
            hasRegistry: adminToken != nil, readFile: readFile)
        refusesEcho = reader.isSet(.echo) && !list.contains(Self.echo)
        keys = UpstreamKeys(environment: environment, own: list, directory: directory, readFile: readFile)
    }

    /// Adds the built-in model. Leaves the list unchanged if `CHATTERD_ECHO` refuses it or the list has a model of its kind.
    public mutating func offerEcho() {
        guard !refusesEcho, !list.contains(where: { $0.kind == .echo }) else { return }
        list.append(Self.echo)
    }

    private static func list(
        _ reader: inout SettingReader, defaults: UpstreamReader.Defaults, hasRegistry: Bool,
        readFile: ConfigurationFile.Read
    ) -> [UpstreamDescription] {
        var list: [UpstreamDescription] = []
        // Whoever lists model servers has not asked for the Ollama of this machine.
        if reader.isSet(.ollama) || !reader.isSet(.upstreams), let url = reader.url(.ollama) {
            var ollama = UpstreamDescription(name: "ollama", kind: .ollama, url: url.description)
            ollama.connectTimeout = defaults.connectTimeout
            ollama.limits = defaults.limits
            list.append(ollama)
        }
        if let text = reader.text(.upstreams) {
            let parsed = Configuration.UpstreamList.read(text, defaults: defaults, readFile: readFile)
            list += parsed.upstreams
            for problem in parsed.problems {
                reader.report("\(Setting.upstreams.name): \(problem)")
            }
        }
        if reader.flag(.echo) {
            list.append(echo)
        }
        // With an administrator they may all come later.
        if list.isEmpty, !hasRegistry, reader.problems.isEmpty {
            reader.report("\(Setting.upstreams.name) lists no model server")
        }
        var names: Set<String> = []
        for upstream in list where !names.insert(upstream.name).inserted {
            reader.report(
                "\(Setting.upstreams.name): the name \"\(upstream.name)\" is taken twice; OLLAMA_URL takes "
                    + "\"ollama\" and CHATTERD_ECHO takes \"echo\"")
        }
        return list
    }

    private static func defaultModel(_ reader: inout SettingReader) -> String? {
        guard let model = reader.text(.defaultModel) else { return nil }
        guard ModelName.isValid(model) else {
            reader.report(
                "\(Setting.defaultModel.name) must be the name of a model: at most \(ModelName.maximumLength) bytes, "
                    + "without control characters")
            return nil
        }
        return model
    }

    private static func adminToken(_ reader: inout SettingReader) -> ConfigurationSecret? {
        guard let token = reader.text(.adminToken) else { return nil }
        guard UpstreamKeys.isKey(token), token.utf8.count >= 16 else {
            reader.report("\(Setting.adminToken.name) must be at least 16 visible ASCII characters")
            return nil
        }
        return ConfigurationSecret(token)
    }
}
