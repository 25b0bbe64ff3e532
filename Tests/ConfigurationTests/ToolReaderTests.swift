import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdTools
import Testing

@testable import ChatterdConfiguration

/// The tools of the server in `CHATTERD_TOOLS`.
@Suite(.timeLimit(.minutes(30))) struct ToolReaderTests {
    private static let weather = """
        {"name":"get_weather","description":"Weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}},\
        "url":"https://api.example/v1/{city}","method":"POST","headers":{"Authorization":"Bearer hush-hush"},\
        "allow_private":true,"pointer":"/t","apps":["shop","edu.*"],"timeout":"5s","max_bytes":"128KiB",\
        "idempotent":true,"parallel":true,"approve":"always"}
        """

    private func read(_ list: String) throws -> [ToolDescription] {
        var tools = Configuration.Tools()
        try tools.setList(list)
        return tools.list
    }

    /// The mistakes in an entry with these members, and with a name and a description.
    private func problems(_ members: String) throws -> [String] {
        try ToolReader(of: JSONSlice(Array(#"{"name":"f","description":"F",\#(members)}"#.utf8))).problems
    }

    @Test func allMembersAreRead() throws {
        let tool = try #require(try read("[\(Self.weather)]").first)
        #expect(tool.name == "get_weather" && tool.terms.isIdempotent && tool.terms.isParallel)
        #expect(tool.terms.timeout == .seconds(5) && tool.terms.maximumSize == 128 << 10)
        #expect(
            tool.terms.apps.contains("shop") && tool.terms.apps.contains("edu.umich")
                && !tool.terms.apps.contains("edu"))
        #expect(tool.terms.approval == .always && tool.needsApproval)
        guard case .http(let request) = tool.action else { throw UsageError("no request") }
        #expect(request.method == .post && request.allowsPrivate && request.hosts.isEmpty)
        #expect(request.url.names == ["city"])
    }

    @Test func programIsRead() throws {
        let tool = try #require(
            try read(
                #"[{"name":"f","description":"F","command":["/bin/df","-h"],"directory":"/tmp","memory":"64MiB"}]"#
            )
            .first)
        guard case .command(let command) = tool.action else { throw UsageError("no program") }
        #expect(command.arguments == ["/bin/df", "-h"] && command.directory == "/tmp" && command.memory == 64 << 20)
        #expect(tool.terms.timeout == .seconds(30) && !tool.terms.isIdempotent && tool.terms.apps.contains("any"))
        #expect(tool.terms.approval == .never && !tool.needsApproval)
    }

    @Test(arguments: [
        (#""url":"https://a/""#, false), (#""url":"https://a/","method":"POST""#, true),
        (#""command":["/bin/df"]"#, true),
    ])
    func toolThatMayWriteNeedsAnApproval(action: String, isNeeded: Bool) throws {
        let tool = try #require(try read(#"[{"name":"f","description":"F","approve":"writes",\#(action)}]"#).first)
        #expect(tool.needsApproval == isNeeded)
    }

    @Test(arguments: [
        ("\"x\":1", "is not a field"), (#""url":"https://a/","command":["/bin/true"]"#, "both set"),
        (#""timeout":"5s""#, "url, command or mcp is missing"), (#""command":["true"]"#, "command must be"),
        (#""command":[]"#, "command must be"), (#""command":"/bin/true""#, "command must be"),
        (#""command":["/bin/true"],"method":"GET""#, "method is of use with url only"),
        (#""url":"https://a/","memory":"1GiB""#, "memory is of use with command only"),
        (#""url":"ftp://a/""#, "url is not a usable URL"), (#""url":"https://a/{x}""#, "names {x}"),
        (#""url":"{u}""#, "hosts is missing"), (#""url":"{u}","hosts":["https://a"]"#, "hosts must be names"),
        (#""url":"{u}","hosts":["a*b"]"#, "hosts must be names"),
        (#""url":"https://a/","hosts":["a"]"#, "hosts is of use"),
        (#""url":"https://a/","method":"TRACE""#, "method must be"),
        (#""url":"https://a/","headers":["a"]"#, "headers must be"),
        (#""url":"https://a/","headers":{"a b":"c"}"#, "headers must be"),
        (#""url":"https://a/","pointer":"a""#, "pointer begins"),
        (#""url":"https://a/","parameters":{"type":"array"}"#, "parameters must be"),
        (#""url":"https://a/","parameters":[]"#, "parameters must be"),
        (#""url":"https://a/","timeout":"1h""#, "timeout"), (#""url":"https://a/","max_bytes":"1GiB""#, "max_bytes"),
        (#""url":"https://a/","idempotent":"yes""#, "idempotent must be true or false"),
        (#""url":"https://a/","apps":[]"#, "apps must be"),
        (#""command":["/bin/true"],"approve":"sometimes""#, "approve must be never, always, writes"),
        (#""command":["/bin/true"],"approve":true"#, "approve must be"),
        (#""command":["/bin/true"],"directory":"tmp""#, "directory must be"),
        (#""command":["/bin/true"],"tools":["a"]"#, "tools is of use with mcp only"),
        (#""command":["/bin/true"],"environment":{"A":"b"}"#, "environment is of use with mcp only"),
        (#""mcp":"https://a/mcp""#, "description is of no use with mcp"),
    ])
    func mistakeIsNamed(members: String, part: String) throws {
        let problems = try problems(members)
        #expect(problems.contains { $0.contains(part) }, "\(problems)")
    }

    // MARK: - Servers of tools

    private func readServers(_ list: String) throws -> [MCPDescription] {
        var tools = Configuration.Tools()
        try tools.setList(list)
        return tools.servers
    }

    @Test func serverWithAURLIsRead() throws {
        let server = try #require(
            try readServers(
                #"""
                [{"name":"docs","mcp":"https://mcp.example:8443/v1/mcp?k=1","headers":{"Authorization":"Bearer hush"},
                "allow_private":true,"tools":["search"],"apps":["shop"],"timeout":"5s","max_bytes":"1KiB","idempotent":true}]
                """#
            ).first)
        guard case .http(let transport) = server.transport else { throw UsageError("no URL") }
        #expect(server.name == "docs" && server.tools == ["search"])
        #expect(transport.origin.description == "https://mcp.example:8443" && transport.path == "/v1/mcp?k=1")
        #expect(transport.allowsPrivate && transport.fields[.authorization] == "Bearer hush")
        #expect(server.terms.isIdempotent && server.terms.maximumSize == 1_024 && !server.terms.apps.contains("other"))
    }

    @Test func serverAsAProgramIsRead() throws {
        let server = try #require(
            try readServers(
                #"[{"name":"fs","mcp":["/usr/bin/npx","-y"],"environment":{"HOME":"/tmp","A":"b=c"},"memory":"1GiB"}]"#
            ).first)
        guard case .program(let program) = server.transport else { throw UsageError("no program") }
        #expect(program.arguments == ["/usr/bin/npx", "-y"] && program.directory == "/" && program.memory == 1 << 30)
        #expect(program.variables == ["HOME=/tmp", "A=b=c"] && server.tools == nil)
    }

    @Test(arguments: [
        (#""mcp":"mcp.example""#, "mcp "), (#""mcp":"https://a/{x}""#, "mcp must not name arguments"),
        (#""mcp":["npx"]"#, "mcp must be a URL, or a list"), (#""mcp":7"#, "mcp must be"),
        (#""mcp":"https://a/","url":"https://a/""#, "url is of no use with mcp"),
        (#""mcp":"https://a/","command":["/bin/true"]"#, "command is of no use with mcp"),
        (#""mcp":"https://a/","parameters":{}"#, "parameters is of no use with mcp"),
        (#""mcp":"https://a/","environment":{}"#, "environment is of use with a list of arguments as mcp only"),
        (#""mcp":["/a"],"headers":{}"#, "headers is of use with a URL as mcp only"),
        (#""mcp":["/a"],"allow_private":true"#, "allow_private is of use with a URL as mcp only"),
        (#""mcp":["/a"],"environment":["A=b"]"#, "environment must be"),
        (#""mcp":["/a"],"environment":{"A=b":"c"}"#, "environment must be"),
        (#""mcp":["/a"],"environment":{"A":1}"#, "environment must be"),
        (#""mcp":["/a"],"directory":"x""#, "directory must be"), (#""mcp":["/a"],"tools":[]"#, "tools must be"),
    ])
    func mistakeInAServerIsNamed(members: String, part: String) throws {
        let problems = try ToolReader(of: JSONSlice(Array(#"{"name":"f",\#(members)}"#.utf8))).problems
        #expect(problems.contains { $0.contains(part) }, "\(problems)")
    }

    @Test(arguments: [
        "{}", "[1]", "[", #"[{"name":"a b","description":"x","command":["/bin/true"]}]"#,
        #"[{"command":["/bin/true"]}]"#,
        #"[{"name":"f","description":"x","command":["/bin/true"]},{"name":"f","description":"y","command":["/bin/true"]}]"#,
        #"[{"name":"f","description":"x","command":["/bin/true"]},{"name":"f","mcp":"https://a/"}]"#,
    ])
    func listWithAMistakeIsRefused(list: String) {
        #expect(throws: SettingProblem.self) { try read(list) }
    }

    @Test func secretOfAToolIsNotShown() throws {
        let environment = ["DATABASE_URL": "postgres://h/d", "CHATTERD_TOOLS": "[\(Self.weather)]"]
        let configuration = try Configuration(environment: environment)
        #expect(configuration.tools.list.count == 1 && !configuration.description.contains("hush"))
    }
}
