import ChatterdBasics

/// A completion with one choice, as OpenAI's API answers a request that is not streamed.
struct OpenAICompletion {
    let id: String
    /// The type of the object.
    let object: String
    /// The time of the request, in seconds since 1970.
    let created: Int
    let model: String
    let finishReason: String
    let promptTokens: Int
    let answerTokens: Int

    /// Appends the completion.
    ///
    /// - Parameter writeContent: writes the member of the choice that has the answer.
    func append(to body: inout ByteBuffer, _ writeContent: (inout JSONWriter) -> Void) {
        body.appendJSON { json in
            json.object { json in
                json.member("id", id)
                json.member("object", object)
                json.member("created", created)
                json.member("model", model)
                json.array("choices") { json in
                    json.object { choice in
                        choice.member("index", 0)
                        writeContent(&choice)
                        choice.name("logprobs")
                        choice.null()
                        choice.member("finish_reason", finishReason)
                    }
                }
                json.object("usage") { OpenAIChat.write(promptTokens, answerTokens, to: &$0) }
            }
        }
    }
}
