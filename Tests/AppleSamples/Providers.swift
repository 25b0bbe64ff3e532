// What AnyLanguageModel's documentation does with the models of three servers. The line with the model is ours; the others are as there.
import ChatterLanguageModelSession

package func ollamaSample() async throws -> String {
    let model = try OllamaLLM(model: "llama3.2", url: "http://remote-server:11434")
    let session = LanguageModelSession(model: model)
    let response = try await session.respond {
        Prompt("Tell a joke.")
    }
    return response.content
}

package func openAISample(key: String) async throws -> String {
    let model = try OpenAILLM(model: "gpt-4o-mini", url: "https://api.example.org/v1", key: key)
    return try await LanguageModelSession(model: model, tools: [WeatherTool()]).respond(to: "Is it warm?").content
}

package func openResponsesSample(key: String) async throws -> String {
    let model = try OpenResponsesLLM(model: "gpt-4o-mini", url: "https://api.example.org/v1", key: key)
    let session = LanguageModelSession(model: model)
    let response = try await session.respond(to: "Say hello.")
    return response.content
}
