import ChatterClient
import ChatterdTestSupport
import Foundation
import Testing

/// Stands for SwiftUI's type of the same name.
@MainActor private struct Binding<Value> {
    let get: () -> Value
    let set: (Value) -> Void

    var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }
}

/// Stands for an observed object.
@MainActor private final class Bubble {
    var text = ""
    var errorText = ""
}

/// The network function of the tutorial, as docs/swift.md shows it.
@MainActor private func llmChat(
    _ prompt: String, with client: ChatterClient, text: Binding<String>, errorText: Binding<String>
) async {
    do {
        for try await answer in client.snapshots(of: Prompt(prompt, model: "echo")) {
            text.wrappedValue = answer.text
        }
    } catch {
        errorText.wrappedValue = error.localizedDescription
    }
}

@Suite(.timeLimit(.minutes(30))) struct TutorialTests {
    @Test @MainActor func textGrowsInItsBubbleAndAnErrorIsShown() async throws {
        let event = { (id: String, text: String, done: Bool) in
            UpstreamStep.chunk(
                "id: \(id)\ndata: {\"message\":{\"role\":\"assistant\",\"content\":\"\(text)\"},\"done\":\(done)}\n\n")
        }
        let head = UpstreamStep.head(
            200, [("Content-Type", "text/event-stream"), ("Location", "/replies/a"), ("Transfer-Encoding", "chunked")])
        let server = try ScriptedUpstream(
            [head, event("5", "Hello", false), event("5-end", "", true), .endChunks],
            .error(429, "One prompt at a time."))
        let client = try ChatterClient(url: server.url, credential: .app("me"))
        let bubble = Bubble()
        let text = Binding(get: { bubble.text }, set: { bubble.text = $0 })
        let errorText = Binding(get: { bubble.errorText }, set: { bubble.errorText = $0 })
        await llmChat("Hi", with: client, text: text, errorText: errorText)
        #expect(bubble.text == "Hello" && bubble.errorText.isEmpty)
        await llmChat("Hi", with: client, text: text, errorText: errorText)
        #expect(bubble.errorText == "One prompt at a time.")
    }

    @Test func functionIsThatOfTheDocumentation() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let start = try #require(source.firstRange(of: "@MainActor private func llmChat("))
        let end = try #require(source[start.lowerBound...].firstRange(of: "\n}\n"))
        let function = source[start.lowerBound..<end.upperBound]
        #expect(try String(contentsOfFile: root + "/docs/swift.md", encoding: .utf8).contains(function))
    }
}
