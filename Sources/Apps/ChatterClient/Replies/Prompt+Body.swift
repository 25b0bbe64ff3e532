import ChatterdBasics

extension Prompt {
    /// The body of `POST /llmchat`.
    ///
    /// - Throws: `malformed` if a text of `rawMembers` is not JSON.
    func body(app: String?) throws(ChatterError) -> [UInt8] {
        var body = ByteBuffer()
        var object = try JSON.encode(Body(prompt: self, app: app), keepsNames: true)
        object.removeLast()
        body.append(object)
        for (name, text) in rawMembers.sorted(by: { $0.key < $1.key }) {
            let json = Array(text.utf8)
            do {
                try JSONReader.validate(json.readable)
            } catch {
                throw .malformed("The member \(name) of the prompt is not JSON: \(error).")
            }
            body.append(",")
            body.append(jsonString: name)
            body.append(":")
            body.append(json)
        }
        body.append("}")
        return body.array
    }

    private struct Body: Encodable {
        let prompt: Prompt
        let app: String?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in prompt.members {
                try container.encode(value, forKey: Name(name))
            }
            try container.encodeIfPresent(app, forKey: Name("appID"))
            try container.encodeIfPresent(prompt.conversation, forKey: Name("conversation"))
            try container.encodeIfPresent(prompt.model, forKey: Name("model"))
            try container.encode(prompt.messages, forKey: Name("messages"))
            try container.encode(true, forKey: Name("stream"))
            try container.encode(true, forKey: Name("queue_events"))
            try container.encodeIfPresent(prompt.whenBusy, forKey: Name("when_busy"))
            try container.encodeIfPresent(prompt.onInterrupt, forKey: Name("on_interrupt"))
            try container.encodeIfPresent(prompt.parent, forKey: Name("parent"))
            try container.encodeIfPresent(prompt.onDisconnect, forKey: Name("on_disconnect"))
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ text: String) {
            stringValue = text
        }

        init?(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            return nil
        }
    }
}
