import ChatterdBasics
import ChatterdLanguageModels
import ChatterdModelServers

extension UpstreamDescription {
    /// The description as a JSON object that `UpstreamReader` reads. It says only whether a configuration contains the key.
    ///
    /// Members equal to the defaults are left out, so that each process uses its own defaults for them.
    public func document(defaults: UpstreamReader.Defaults) -> [UInt8] {
        var writer = DocumentWriter()
        writer.add(.name, name)
        writer.add(.kind, kind.rawValue)
        writer.add(.url, url.isEmpty ? nil : url)
        switch key {
        case .environment(let name): writer.add(.keyEnvironment, name)
        case .file(let path): writer.add(.keyFile, path)
        case .given: writer.add(.key, "set")
        case nil: break
        }
        writer.add(.headers, fields.map { ($0.name, $0.value) })
        writer.add(.authorities, authorities)
        if allowsLinkLocal {
            writer.add(.allowsLinkLocal) { $0.append("true") }
        }
        if !models.isEmpty {
            writer.add(.models) { buffer in
                for (index, model) in models.enumerated() {
                    buffer.append(index == 0 ? "[" : ",")
                    buffer.append(jsonString: model)
                }
                buffer.append("]")
            }
        }
        writer.add(.aliases, aliases.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        writer.add(.priority, priority == 0 ? nil : priority)
        writer.add(.slots, slots)
        writer.add(.queueLimit, queueLimit == UpstreamDescription(name: "", kind: .echo).queueLimit ? nil : queueLimit)
        for member in self.defaults {
            guard let name = UpstreamFields.Name(rawValue: member.key) else { continue }
            writer.add(name) { $0.append(member.value) }
        }
        writer.add(.context, contextLength)
        writer.add(.continuation, continuation == .none ? nil : continuation.rawValue)
        writer.add(.connectTimeout, connectTimeout, unless: defaults.connectTimeout)
        writer.add(.firstByteTimeout, limits.firstByte, unless: defaults.limits.firstByte)
        writer.add(.silenceTimeout, limits.silence, unless: defaults.limits.silence)
        writer.add(.totalTimeout, limits.total, unless: defaults.limits.total)
        return writer.finish()
    }
}

/// Writes the members of a JSON object one after the other.
private struct DocumentWriter {
    private var buffer = ByteBuffer()

    mutating func add(_ name: UpstreamFields.Name, _ value: (inout ByteBuffer) -> Void) {
        buffer.append(buffer.isEmpty ? "{" : ",")
        buffer.append(jsonString: name.rawValue)
        buffer.append(":")
        value(&buffer)
    }

    mutating func add(_ name: UpstreamFields.Name, _ text: String?) {
        guard let text else { return }
        add(name) { $0.append(jsonString: text) }
    }

    mutating func add(_ name: UpstreamFields.Name, _ number: Int?) {
        guard let number else { return }
        add(name) { $0.append(decimal: number) }
    }

    mutating func add(_ name: UpstreamFields.Name, _ duration: Duration, unless standard: Duration) {
        guard duration != standard else { return }
        add(name, SettingText.duration(duration))
    }

    mutating func add(_ name: UpstreamFields.Name, _ pairs: [(name: String, value: String)]) {
        guard !pairs.isEmpty else { return }
        add(name) { buffer in
            for (index, pair) in pairs.enumerated() {
                buffer.append(index == 0 ? "{" : ",")
                buffer.append(jsonString: pair.name)
                buffer.append(":")
                buffer.append(jsonString: pair.value)
            }
            buffer.append("}")
        }
    }

    consuming func finish() -> [UInt8] {
        buffer.append("}")
        return buffer.bytes.withUnsafeBufferPointer { Array($0) }
    }
}
