import ChatterdBasics
import ChatterdChat

/// The model of `/api/show`.
struct OllamaModelDetails: ModelLister {
    func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.array { json in
                for model in models { Self.write(model, to: &json) }
            }
        }
    }

    func append(_ model: DoorModel, to body: inout ByteBuffer) {
        body.appendJSON { Self.write(model, to: &$0) }
    }

    private static func write(_ model: DoorModel, to json: inout JSONWriter) {
        json.object { json in
            json.member("modelfile", "")
            json.member("parameters", "")
            json.member("template", "")
            json.object("details") { OllamaModels.writeDetails(of: model, to: &$0) }
            // Clients look the context length up under the architecture.
            let family = model.installed?.family ?? ""
            let architecture = family.isEmpty ? "unknown" : family
            json.object("model_info") { json in
                json.member("general.architecture", architecture)
                json.member("\(architecture).context_length", model.context)
            }
            // A model that only makes embeddings is in no list. Servers do not say what else a model can do.
            json.array("capabilities") { json in
                for capability in ["completion", "tools"] { json.string(capability) }
            }
            json.member("modified_at", "1970-01-01T00:00:00Z")
        }
    }
}
