#if canImport(SwiftUI)
    import ChatCore
    import ChatterClient
    import SwiftUI

    /// An app for macOS and iOS. In Xcode, add the sources of this folder and of ChatCore to an app, or run the target on macOS.
    @main
    struct ChatApp: App {
        private let client = Result { try ChatterClient(url: "http://127.0.0.1:8080", credential: .app("chat")) }

        var body: some Scene {
            WindowGroup {
                switch client {
                case .success(let client): ChatView(chat: Chat(client: client, model: "echo"))
                case .failure(let error): Text("\(error)")
                }
            }
        }
    }

    /// The turns of a conversation, and a field for the next prompt.
    struct ChatView: View {
        @State var chat: Chat
        @State private var prompt = ""

        var body: some View {
            VStack {
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: 12) {
                        ForEach(chat.turns) { turn in
                            Text(turn.prompt).bold().frame(maxWidth: .infinity, alignment: .trailing)
                            Text(turn.answer).textSelection(.enabled)
                            if let notice = turn.notice {
                                Text(notice).foregroundStyle(.red)
                            }
                        }
                    }
                    .padding()
                }
                .defaultScrollAnchor(.bottom)
                HStack {
                    TextField("Prompt", text: $prompt, axis: .vertical).onSubmit(send)
                    if chat.running == nil {
                        Button("Send", action: send).disabled(prompt.isEmpty)
                    } else {
                        Button("Stop") { Task { await chat.stop() } }
                    }
                }
                .padding()
            }
        }

        private func send() {
            let text = prompt
            prompt = ""
            Task { await chat.send(text) }
        }
    }
#else
    /// Without SwiftUI there is no window.
    @main
    struct ChatApp {
        static func main() {
            print("This app needs SwiftUI; `ask` is the same conversation in a terminal.")
        }
    }
#endif
