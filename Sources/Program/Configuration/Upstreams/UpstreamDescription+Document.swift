import ChatterdBasics
import ChatterdChat
import ChatterdModelServers

extension UpstreamDescription {
    /// The description as a JSON object that `UpstreamReader` reads. It says only whether a configuration contains the key.
    ///
    /// Members equal to the defaults are left out, so that each process uses its own defaults for them.
    public func document(defaults: UpstreamReader.Defaults) -> [UInt8] {
        var document = ByteBuffer()
        document.appendJSON { json in
            json.object { json in
                appendServer(to: &json)
                appendModels(to: &json)
                appendDefaults(to: &json)
                json.member(.connectTimeout, connectTimeout, unless: defaults.connectTimeout)
                json.member(.firstByteTimeout, limits.firstByte, unless: defaults.limits.firstByte)
                json.member(.silenceTimeout, limits.silence, unless: defaults.limits.silence)
                json.member(.totalTimeout, limits.total, unless: defaults.limits.total)
            }
        }
        return document.array
    }

    private func appendServer(to json: inout JSONWriter) {
        json.member(.name, name)
        json.member(.kind, kind.rawValue)
        json.member(.url, url.isEmpty ? nil : url)
        switch key {
        case .environment(let name): json.member(.keyEnvironment, name)
        case .file(let path): json.member(.keyFile, path)
        case .given: json.member(.key, "set")
        case nil: break
        }
        json.member(.headers, fields.map { ($0.name, $0.value) })
        json.member(.authorities, authorities)
        if allowsLinkLocal {
            json.member(UpstreamFields.Name.allowsLinkLocal.rawValue, true)
        }
    }

    private func appendModels(to json: inout JSONWriter) {
        if !models.isEmpty {
            json.array(UpstreamFields.Name.models.rawValue) { json in
                for model in models {
                    json.string(model)
                }
            }
        }
        json.member(.aliases, aliases.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        json.member(.priority, priority == 0 ? nil : priority)
        json.member(.slots, slots)
        json.member(.queueLimit, queueLimit == UpstreamDescription(name: "", kind: .echo).queueLimit ? nil : queueLimit)
    }

    private func appendDefaults(to json: inout JSONWriter) {
        for member in defaults {
            guard let name = UpstreamFields.Name(rawValue: member.key) else { continue }
            json.member(name.rawValue, raw: member.value.span)
        }
        json.member(.context, contextLength)
        json.member(.continuation, continuation == .none ? nil : continuation.rawValue)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: UpstreamFields.Name, _ text: String?) {
        member(name.rawValue, text)
    }

    fileprivate mutating func member(_ name: UpstreamFields.Name, _ number: Int?) {
        member(name.rawValue, number)
    }

    fileprivate mutating func member(_ name: UpstreamFields.Name, _ duration: Duration, unless standard: Duration) {
        guard duration != standard else { return }
        member(name, SettingText.duration(duration))
    }

    /// Writes a member that is an object of strings; no pairs write no member.
    fileprivate mutating func member(_ name: UpstreamFields.Name, _ pairs: [(name: String, value: String)]) {
        guard !pairs.isEmpty else { return }
        object(name.rawValue) { json in
            for pair in pairs {
                json.member(pair.name, pair.value)
            }
        }
    }
}
