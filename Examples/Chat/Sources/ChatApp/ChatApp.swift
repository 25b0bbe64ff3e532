#if canImport(SwiftUI)
    import ChatCore
    import ChatterClient
    import SwiftUI

    /// An app for macOS and iOS. In Xcode, add the sources of this folder and of ChatCore to an app, or run the target on macOS.
    @main
    struct ChatApp: App {
        @State private var chats = Chats(
            url: "http://127.0.0.1:8080", model: "echo",
            file: ChatFile(path: URL.documentsDirectory.appending(path: "chat.json").path))
        @Environment(\.scenePhase) private var phase

        var body: some Scene {
            WindowGroup {
                ChatsView(chats: chats)
            }
            .onChange(of: phase) { _, phase in
                switch phase {
                case .active: Task { await chats.resume() }
                case .background: chats.chat?.save()
                default: break
                }
            }
        }
    }

    /// The conversations, and the chosen one.
    struct ChatsView: View {
        @State var chats: Chats

        var body: some View {
            NavigationSplitView {
                List(chats.list, id: \.name) { conversation in
                    Button(conversation.title ?? "Untitled") { Task { await chats.open(conversation) } }
                }
                .refreshable { await chats.load() }
                .toolbar { Button("New", systemImage: "square.and.pencil") { chats.begin() } }
                if let notice = chats.notice { Text(notice).foregroundStyle(.red) }
            } detail: {
                if let chat = chats.chat {
                    ChatView(chat: chat).id(chat.conversation)
                } else {
                    Text(chats.notice ?? "No server")
                }
            }
            .task { await chats.load() }
        }
    }

    /// The turns of a conversation, and a field for the next prompt.
    struct ChatView: View {
        let chat: Chat
        @State private var prompt = ""

        var body: some View {
            VStack {
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: 12) {
                        ForEach(chat.turns) { turn in
                            TurnView(turn: turn) { Task { await chat.retry() } }
                        }
                    }
                    .padding()
                }
                .defaultScrollAnchor(.bottom)
                HStack {
                    TextField("Prompt", text: $prompt).onSubmit(send).submitLabel(.send)
                    if chat.isAnswering {
                        Button("Stop", systemImage: "stop.fill") { Task { await chat.stop() } }
                    } else {
                        Button("Send", systemImage: "arrow.up", action: send).disabled(prompt.isEmpty)
                    }
                }
                .padding()
            }
        }

        private func send() {
            guard !chat.isAnswering, !prompt.isEmpty else { return }
            let text = prompt
            prompt = ""
            Task { await chat.send(text) }
        }
    }

    /// A prompt with its answer. Only this view is evaluated while the answer grows.
    struct TurnView: View {
        let turn: Turn
        let retry: () -> Void

        var body: some View {
            Text(turn.prompt).bold().frame(maxWidth: .infinity, alignment: .trailing)
                .accessibilityLabel("You: \(turn.prompt)")
            Text(turn.text).textSelection(.enabled).accessibilityLabel("Answer: \(turn.text)")
            if turn.phase == .running, turn.text.isEmpty { ProgressView() }
            if let notice = turn.notice {
                Label(notice, systemImage: "exclamationmark.triangle").foregroundStyle(.red)
            }
            if turn.phase == .failed(isRetryable: true) { Button("Try again", action: retry) }
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
