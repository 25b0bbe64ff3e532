import ChatterdBasics
import ChatterdChat
import ChatterdCryptography

/// The models of `/api/tags`.
struct OllamaModels: ModelLister {
    func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.object { json in
                json.array("models") { json in
                    for model in models { Self.write(model, to: &json) }
                }
            }
        }
    }

    func append(_ model: DoorModel, to body: inout ByteBuffer) {
        body.appendJSON { Self.write(model, to: &$0) }
    }

    private static func write(_ model: DoorModel, to json: inout JSONWriter) {
        json.object { json in
            json.member("name", model.name)
            json.member("model", model.name)
            // Clients require these members, and model servers of other kinds do not report them.
            let installed = model.installed ?? InstalledModel()
            json.member("modified_at", installed.modifiedAt.isEmpty ? "1970-01-01T00:00:00Z" : installed.modifiedAt)
            json.member("size", installed.size)
            json.member("digest", installed.digest.isEmpty ? digest(of: model) : installed.digest)
            json.object("details") { writeDetails(of: model, to: &$0) }
        }
    }

    /// The SHA-256 of the name, in hexadecimal digits. Clients show its first twelve digits, and take models with the same digest for one
    /// model.
    private static func digest(of model: DoorModel) -> String {
        String(hexadecimal: SHA256Digest(of: model.name.utf8.span).bytes)
    }

    /// Writes the members of `details`.
    static func writeDetails(of model: DoorModel, to json: inout JSONWriter) {
        let installed = model.installed ?? InstalledModel()
        json.member("parent_model", "")
        json.member("format", installed.format)
        json.member("family", installed.family)
        json.array("families") { json in installed.families.forEach { json.string($0) } }
        json.member("parameter_size", installed.parameterSize)
        json.member("quantization_level", installed.quantizationLevel)
        json.member("context_length", model.context)
    }
}

/// The models of `/api/ps`: none, because the servers decide which models they have loaded.
struct OllamaRunningModels: ModelLister {
    func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.append("{\"models\":[]}")
    }

    func append(_ model: DoorModel, to body: inout ByteBuffer) {
        append([model], to: &body)
    }
}
