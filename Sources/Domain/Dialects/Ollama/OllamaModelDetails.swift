import ChatterdBasics

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
            json.object("model_info") { json in
                json.member("general.architecture", "unknown")
                json.member("unknown.context_length", model.context)
            }
            json.array("capabilities") { json in
                for capability in ["completion", "tools"] { json.string(capability) }
            }
            json.member("modified_at", "1970-01-01T00:00:00Z")
        }
    }
}
