import ChatterdBasics
import ChatterdHTTP
import ChatterdRelay

/// Ollama's own API.
struct OllamaDoor: DoorDialect {
    var endpoints: [DoorEndpoint] {
        [
            DoorEndpoint(.post, "/api/chat", .ask(OllamaChat())),
            DoorEndpoint(.post, "/api/generate", .ask(OllamaGenerate())),
            DoorEndpoint(.get, "/api/tags", .models(OllamaModels())),
            DoorEndpoint(.get, "/api/ps", .models(OllamaRunningModels())),
            DoorEndpoint(.post, "/api/show", .show(OllamaModelDetails())),
            DoorEndpoint(.post, "/api/embed", .pass),
            DoorEndpoint(.post, "/api/embeddings", .pass),
            DoorEndpoint(.get, "/api/version", .version(Self.apiVersion)),
            DoorEndpoint(.post, "/api/pull", .change(.pull)),
            DoorEndpoint(.post, "/api/push", .change(.push)),
            DoorEndpoint(.post, "/api/create", .change(.create)),
            DoorEndpoint(.post, "/api/copy", .change(.copy)),
            DoorEndpoint(.delete, "/api/delete", .change(.delete)),
            DoorEndpoint(.head, "/api/blobs/:digest", .refuse(Self.noFiles)),
            DoorEndpoint(.post, "/api/blobs/:digest", .refuse(Self.noFiles)),
        ]
    }

    /// The version of Ollama's API that the door has, not that of chatterd. Clients compare its numbers: GitHub Copilot refuses everything
    /// below 0.6.4 (microsoft/vscode#282931), and needs numbers alone. It is the version that the tests' Ollama reports.
    static let apiVersion = "0.32.15"

    private static let noFiles = RelayError.invalid(
        "Files of models cannot be uploaded here: create the model from another one, or send the files to the Ollama itself."
    )

    func message(of code: String, model: String) -> String? {
        code == "model_not_found" ? "model '\(model)' not found" : nil
    }

    @discardableResult func append(_ fault: DoorFault, to body: inout ByteBuffer) -> Status {
        body.appendJSON { json in json.object { $0.member("error", fault.message) } }
        return fault.usualStatus
    }
}
