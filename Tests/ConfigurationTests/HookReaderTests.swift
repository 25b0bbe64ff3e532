import ChatterdBasics
import ChatterdCryptography
import ChatterdHTTPClient
import ChatterdHooks
import ChatterdIdentity
import Testing

@testable import ChatterdConfiguration

/// The hooks of the operator in `CHATTERD_HOOKS`.
@Suite(.timeLimit(.minutes(30))) struct HookReaderTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func read(_ list: String) throws -> Configuration.Hooks {
        var hooks = Configuration.Hooks()
        try hooks.setList(list)
        return hooks
    }

    @Test func allMembersAreRead() throws {
        let hooks = try read(
            """
            [{"name":"check","url":"https://hooks.example:8443/a?b=c","on":["prompt","answer","end"],"apps":["shop","edu.*"],\
            "headers":{"Authorization":"Bearer hush"},"timeout":"2s","on_failure":"allow","secret":"\(Self.secret)","text":true}]
            """)
        let hook = try #require(hooks.list.first)
        #expect(hook.name == "check" && hook.origin.authority == "hooks.example:8443" && hook.path == "/a?b=c")
        #expect(hook.events == [.prompt, .answer, .end] && hook.apps.patterns == ["shop", "edu.*"])
        #expect(hook.timeout == .seconds(2) && hook.onFailure == .allow && hook.includesText && hook.fields.count == 1)
        let key = try #require(Base64URL.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).map { $0 }
        #expect(hook.key?.code(of: [1]) == AuthenticationKey(bytes: key).code(of: [1]))
        #expect(hooks.toldOfEnds == ["check"])
    }

    @Test func hookRefusesWhenItFailsUnlessItIsSaid() throws {
        let hook = try #require(try read(#"[{"name":"a","url":"http://127.0.0.1:1/","on":["prompt"]}]"#).list.first)
        #expect(hook.onFailure == .refuse && hook.timeout == .seconds(5) && hook.key == nil && !hook.includesText)
        #expect(hook.gets(.prompt, of: "any") && !hook.gets(.answer, of: "any"))
    }

    @Test(arguments: [
        ("{}", "not a JSON list of objects"), ("[1]", "entry 1 is not an object"),
        ("[{}]", "name is missing"), (#"[{"name":"a"}]"#, "url is missing"),
        (#"[{"name":"a","url":"http://h/"}]"#, "on is missing: a list of prompt, answer, end"),
        (
            #"[{"name":"a","url":"http://h/","on":["prompts"]}]"#,
            "on must be a list of different ones of prompt, answer, end"
        ),
        (#"[{"name":"a","url":"http://h/","on":["prompt","prompt"]}]"#, "on must be a list of different ones"),
        (#"[{"name":"a","url":"h","on":["prompt"]}]"#, "url has a path after its host"),
        (#"[{"name":"a","url":"http://h/{x}","on":["prompt"]}]"#, "url must not have braces"),
        (#"[{"name":"a","url":"http://h/","on":["end"]}]"#, "secret is missing"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"secret":"abc"}]"#, "secret must be whsec_"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"secret":"whsec_YQ=="}]"#, "secret must be whsec_"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"text":true}]"#, "text is of use with end only"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"on_failure":"close"}]"#, "on_failure must be refuse, allow"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"timeout":"1m"}]"#, "timeout:"),
        (#"[{"name":"a","url":"http://h/","on":["prompt"],"when":1}]"#, "\"when\" is not a field"),
        (
            #"[{"name":"a","url":"http://h/","on":["prompt"]},{"name":"a","url":"http://h/","on":["prompt"]}]"#,
            "entry 2 (\"a\"): an entry before it has this name"
        ),
    ])
    func mistakeIsReported(list: String, problem: String) throws {
        let error = try #require(throws: SettingProblem.self) { try read(list) }
        #expect(error.message.contains(problem))
    }
}
