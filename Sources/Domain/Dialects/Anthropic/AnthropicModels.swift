import ChatterdBasics

/// Models in Anthropic's form.
public struct AnthropicModels: ModelLister {
    public func append(_ models: [DoorModel], to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.object { json in
                json.array("data") { json in
                    for model in models { Self.write(model, to: &json) }
                }
                json.member("has_more", false)
                for (name, model) in [("first_id", models.first), ("last_id", models.last)] {
                    json.name(name)
                    if let model { json.string(model.name) } else { json.null() }
                }
            }
        }
    }

    public func append(_ model: DoorModel, to body: inout ByteBuffer) {
        body.appendJSON { Self.write(model, to: &$0) }
    }

    private static func write(_ model: DoorModel, to json: inout JSONWriter) {
        json.object { json in
            json.member("type", "model")
            json.member("id", model.name)
            json.member("display_name", model.name)
            // Model servers do not report it alike.
            json.member("created_at", "1970-01-01T00:00:00Z")
            json.member("max_input_tokens", model.context)
        }
    }
}
