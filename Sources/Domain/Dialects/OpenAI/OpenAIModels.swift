import ChatterdBasics

/// Models in OpenAI's form.
struct OpenAIModels: ModelLister {
    func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.object { json in
                json.member("object", "list")
                json.array("data") { json in
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
            json.member("id", model.name)
            json.member("object", "model")
            // Model servers do not report it alike.
            json.member("created", 0)
            json.member("owned_by", "chatterd")
            // OpenRouter's name for it, and vLLM's; both are left out if it is unknown.
            json.member("context_length", model.context)
            json.member("max_model_len", model.context)
        }
    }
}
