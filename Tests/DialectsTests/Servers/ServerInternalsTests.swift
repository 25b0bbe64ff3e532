import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Parts of a model server's message that clients do not see.
@Suite struct ServerInternalsTests {
    @Test(arguments: [
        (#"File "/opt/venv/lib/llama_cpp/server/app.py", line 376, in create_chat_completion"#, "…"),
        (#"1 validation error; File "app.py", line 3: bad"#, "1 validation error; …: bad"),
        ("cannot open /models/tiny.gguf: no such file", "cannot open …: no such file"),
        ("at /home/me/.cache/x and ~/models/y", "at … and ~…"),
        (#"(C:\models\tiny.gguf)"#, "(…)"),
        ("file:///srv/x/y", "file:…"),
        ("open /Users/jose\u{301}/secret failed", "open … failed"),
        ("open /jose\u{301}/secret.txt failed", "open … failed"),
        ("cannot read /home/ที่บ้าน/key.pem", "cannot read …"), ("x /home/हिन्दी/key.pem", "x …"),
        ("a /v1/models@/home/me/x b", "a /v1/models@… b"),
        (
            "failed\nTraceback (most recent call last):\n  File \"/a/b.py\", line 1, in f\n    f()\nValueError: no such /a/b\n",
            "failed\n\nValueError: no such …"
        ),
        ("Traceback (most recent call last):\n  File \"/a/b.py\", line 1, in f\n    f()", ""),
    ])
    func internalsOfTheMachineAreRemoved(words: String, kept: String) {
        #expect(words.withoutServerInternals == kept)
    }

    @Test(arguments: [
        "request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "see https://example.com/docs/errors for and/or 1/2 of application/json",
        "/chat/completions: Invalid model name passed in model=nosuch. Call `/v1/models` to view available models",
        "Path: body.messages.0; got ['a', \"b\"] at http://127.0.0.1:8000/v1/chat/completions", "use /think", "",
    ])
    func otherWordsStay(words: String) {
        #expect(words.withoutServerInternals == words)
    }
}
