import ChatterdHTTP
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Answers of servers to bad requests, with any status: the request is at fault, and not the server.
@Suite struct BadRequestTests {
    private func error(_ status: Int, _ body: String) throws -> ModelError {
        ModelError(
            status: try #require(Status(status)), report: UpstreamErrorBody(Array(body.utf8).span), unknownPath: "it.")
    }

    @Test(arguments: [
        // llama.cpp
        #"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
        #"{"error":{"code":500,"message":"audio input is not supported","type":"server_error"}}"#,
        // Ollama
        #"{"error":"option \"temperature\" must be of type float32"}"#,
        #"{"error":"invalid format: \"yaml\"; expected \"json\" or a JSON schema"}"#,
        #"{"error":"{\"error\":{\"code\":500,\"message\":\"image input is not supported\",\"type\":\"server_error\"}}"}"#,
        // vLLM
        #"{"error":{"message":"Grammar error: Invalid type: nonsense","type":"InternalServerError","param":null,"code":500}}"#,
        #"{"error":{"message":"no","type":"BadRequestError","param":null,"code":500}}"#,
        // LiteLLM
        #"{"error":{"message":"litellm.BadRequestError: OpenAIException - no","type":null,"param":null,"code":"500"}}"#,
        // llama-cpp-python
        #"{"error":{"message":"[{'type': 'list_type', 'msg': 'Input should be a valid list'}]","type":"internal_server_error","param":null,"code":null}}"#,
        #"{"error":{"message":"1 validation error for CreateChatCompletionRequest","type":"internal_server_error"}}"#,
    ])
    func badRequestIsRecognisedByItsWords(body: String) throws {
        let refused = try error(500, body)
        #expect(refused.code == .rejected && !refused.code.isRetryable && refused.hint == nil)
        #expect(ModelError(inAnswer: UpstreamErrorBody(Array(body.utf8).span)).code == .rejected)
    }

    @Test(
        arguments: [
            (
                500, #"{"error":"an odd picture"}"#, ModelError.Code.failed,
                ModelError.Hint.request("500 an odd picture")
            ),
            (501, #"{"error":"an odd picture"}"#, .failed, .request("501 an odd picture")),
            (
                500, #"{"error":{"message":"EngineCore encountered an issue.","type":"InternalServerError"}}"#, .failed,
                nil
            ),
            (500, #"{"error":"CUDA error: out of memory"}"#, .failed, nil), (500, "", .failed, nil),
            (500, #"{"error":{"message":"Context size has been exceeded."}}"#, .failed, .context),
            (400, #"{"error":"m does not support thinking"}"#, .rejected, .thinking),
            (400, #"{"error":{"message":"Unsupported parameter: 'reasoning_effort'"}}"#, .rejected, .thinking),
            // A template may quote the text of the user.
            (
                500, #"{"error":"template failed: reasoning_effort"}"#, .failed,
                .request("500 template failed: reasoning_effort")
            ),
            (502, "<html>Bad Gateway</html>", .failed, .restart(wasRead: false)),
            (504, "upstream request timeout", .failed, .restart(wasRead: true)),
            (503, #"{"error":{"code":503,"message":"Loading model"}}"#, .busy, .restart(wasRead: false)),
            (503, #"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#, .busy, nil),
            (
                400,
                #"{"error":{"message":"/chat/completions: Invalid model name passed in model=nosuch. Call `/v1/models` to view available models for your key.","type":"invalid_request_error","param":null,"code":"400"}}"#,
                .modelNotFound, nil
            ),
        ] as [(Int, String, ModelError.Code, ModelError.Hint?)])
    func otherErrorsGetTheirCode(status: Int, body: String, code: ModelError.Code, hint: ModelError.Hint?) throws {
        let failed = try error(status, body)
        #expect(failed.code == code && failed.hint == hint)
    }

    @Test func serverInternalsGoToTheLogOnly() throws {
        let failed = try error(
            500,
            #"{"error":{"message":"File \"/opt/venv/llama_cpp/server/app.py\", line 376, in create_chat_completion: no","type":"internal_server_error"}}"#
        )
        #expect(failed.message == "…: no" && failed.detail.contains("/opt/venv"))
        let page = try error(500, #"{"error":"Traceback (most recent call last):\n  File \"/a/b.py\", line 1"}"#)
        #expect(page.message == "The model server failed with status 500." && page.detail.contains("/a/b.py"))
    }
}
