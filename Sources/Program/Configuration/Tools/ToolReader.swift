import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdIdentity
import ChatterdTools

/// Reads one entry of `CHATTERD_TOOLS`, and collects all mistakes.
struct ToolReader {
    /// The known members.
    enum Name: String, CaseIterable {
        case name
        case description
        case parameters
        case apps
        case url
        case method
        case headers
        case hosts
        case allowsPrivate = "allow_private"
        case pointer
        case command
        case directory
        case memory
        case timeout
        case maximumSize = "max_bytes"
        case isIdempotent = "idempotent"
        case isParallel = "parallel"
        case approval = "approve"
        case mcp
        case tools
        case environment
    }

    private static let timeouts = Duration.milliseconds(100)...Duration.seconds(600)
    private static let sizes = 1_024...1 << 20
    private static let memories = 16 << 20...64 << 30

    /// A tool, or a server that has tools; neither if there are problems.
    private(set) var tool: ToolDescription?
    private(set) var server: MCPDescription?
    /// The name in the entry, valid or not, for messages.
    private(set) var name: String?
    /// One sentence for each problem.
    var problems: [String] { entry.problems }

    private var entry: ObjectFields<Name>

    /// Reads an object; `null` counts as absent.
    ///
    /// - Throws: `wrongType` for another value.
    init(of object: JSONSlice) throws(JSONError) {
        entry = try ObjectFields(of: object)
        name = entry.requiredText(.name)
        if let name, !Self.isName(name) {
            entry.report(.name, "must be 1 to 64 letters, digits, underscores and hyphens")
        }
        let terms = readTerms()
        if entry.values[.mcp] != nil { readServer(terms) } else { readTool(terms) }
    }

    private mutating func readTerms() -> ToolTerms {
        var terms = ToolTerms()
        terms.apps = entry.apps(.apps)
        terms.timeout = entry.duration(.timeout, in: Self.timeouts) ?? terms.timeout
        terms.maximumSize = entry.bytes(.maximumSize, in: Self.sizes) ?? terms.maximumSize
        terms.isIdempotent = entry.flag(.isIdempotent) ?? false
        terms.approval = entry.word(.approval) ?? .never
        terms.isParallel = entry.flag(.isParallel) ?? false
        return terms
    }

    private mutating func readTool(_ terms: ToolTerms) {
        let description = entry.requiredText(.description) ?? ""
        let action = readAction()
        refuse([.tools, .environment], "mcp")
        let parameters = entry.values[.parameters]?.bytes ?? Array(#"{"type":"object","properties":{}}"#.utf8)
        if let value = entry.values[.parameters], value.last("type", .string)?.string != "object" {
            entry.report(.parameters, "must be a JSON schema with \"type\":\"object\"")
        }
        checkArguments(of: action)
        guard problems.isEmpty, let name, let action else { return }
        do throws(JSONSchemaError) {
            tool = try ToolDescription(name: name, description: description, parameters: parameters, action: action)
            tool?.terms = terms
        } catch {
            entry.report(.parameters, "cannot be used: \(error.reason)")
        }
    }

    private mutating func readServer(_ terms: ToolTerms) {
        for other in [Name.url, .command, .description, .parameters, .method, .hosts, .pointer]
        where entry.values[other] != nil {
            entry.report(other, "is of no use with mcp: the server describes its tools")
        }
        let transport = entry.values[.mcp]?.kind == .array ? readServerProgram() : readServerURL()
        let tools = entry.names(.tools)
        guard problems.isEmpty, let name, let transport else { return }
        var server = MCPDescription(name: name, transport: transport)
        server.tools = tools
        server.terms = terms
        self.server = server
    }

    private mutating func readServerURL() -> MCPDescription.Transport? {
        refuse([.directory, .memory, .environment], "a list of arguments as mcp")
        let (fields, allowsPrivate) = (entry.headers(.headers), entry.flag(.allowsPrivate) ?? false)
        guard let text = entry.text(.mcp) else { return nil }
        do throws(UsageError) {
            let url = try URLTemplate(parsing: text)
            guard let origin = url.origin, url.names.isEmpty else {
                throw UsageError("must not name arguments")
            }
            return .http(
                MCPDescription.HTTPTransport(
                    origin: origin, path: url.fixedPath, fields: fields, allowsPrivate: allowsPrivate))
        } catch {
            entry.report(.mcp, error.description)
            return nil
        }
    }

    private mutating func readServerProgram() -> MCPDescription.Transport? {
        refuse([.headers, .allowsPrivate], "a URL as mcp")
        guard let arguments = entry.names(.mcp), arguments.first?.hasPrefix("/") ?? false else {
            entry.report(.mcp, "must be a URL, or a list of texts, the path of a program first")
            return nil
        }
        var program = MCPDescription.Program(arguments: arguments)
        program.directory = directory() ?? program.directory
        program.memory = entry.bytes(.memory, in: Self.memories)
        guard let value = entry.values[.environment] else { return .program(program) }
        for member in value.members(first: ObjectFields<Name>.countLimit) ?? [] {
            let isName = !member.name.isEmpty && !member.name.contains("=") && !member.name.utf8.contains(0)
            guard isName, let text = member.value.storableString else {
                entry.report(.environment, "must be an object of names and texts")
                return nil
            }
            program.variables.append("\(member.name)=\(text)")
        }
        if value.kind != .object { entry.report(.environment, "must be an object of names and texts") }
        return .program(program)
    }

    private static func isName(_ text: String) -> Bool {
        1...64 ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    // MARK: - Actions

    private mutating func readAction() -> ToolDescription.Action? {
        switch (entry.values[.url] != nil, entry.values[.command] != nil) {
        case (true, true):
            entry.problems.append("url and command are both set: keep one of them")
            return nil
        case (false, false):
            entry.problems.append("url, command or mcp is missing")
            return nil
        case (true, false):
            refuse([.directory, .memory], "command")
            return readRequest().map { .http($0) }
        case (false, true):
            refuse([.method, .headers, .hosts, .allowsPrivate, .pointer], "url")
            return readCommand().map { .command($0) }
        }
    }

    private mutating func refuse(_ names: [Name], _ other: String) {
        for name in names where entry.values[name] != nil { entry.report(name, "is of use with \(other) only") }
    }

    private mutating func readRequest() -> ToolDescription.HTTPAction? {
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        let method = entry.text(.method) ?? "GET"
        if !methods.contains(method) { entry.report(.method, "must be \(methods.joined(separator: ", "))") }
        let (fields, hosts, allowsPrivate) = (
            entry.headers(.headers), entry.names(.hosts) ?? [], entry.flag(.allowsPrivate) ?? false
        )
        var pointer: JSONPointer?
        do throws(UsageError) {
            pointer = try entry.text(.pointer).map { (text) throws(UsageError) in try JSONPointer(parsing: text) }
        } catch {
            entry.report(.pointer, error.description)
        }
        guard let text = entry.text(.url) else { return nil }
        do throws(UsageError) {
            let url = try URLTemplate(parsing: text)
            if url.origin == nil, hosts.isEmpty {
                entry.report(.hosts, "is missing: it lists the hosts that a URL of the model may name, or * for any")
            }
            if !hosts.allSatisfy(Self.isHost) {
                entry.report(.hosts, "must be names of hosts such as api.example, *.example or *, without a scheme")
            }
            if url.origin != nil, !hosts.isEmpty { entry.report(.hosts, "is of use with a url such as {url} only") }
            return ToolDescription.HTTPAction(
                method: Method(method) ?? .get, url: url, fields: fields, hosts: hosts,
                allowsPrivate: allowsPrivate, pointer: pointer)
        } catch {
            entry.report(.url, error.description)
            return nil
        }
    }

    /// Reports arguments of the URL that the schema does not have.
    private mutating func checkArguments(of action: ToolDescription.Action?) {
        guard case .http(let request) = action else { return }
        let known = entry.values[.parameters]?.last("properties", .object)?.members(first: .max)?.map(\.name) ?? []
        for name in request.url.names where !known.contains(name) {
            entry.report(.url, "names {\(SettingText.excerpt(name))}, which parameters does not have")
        }
    }

    /// Whether a text is a host, `*.` before one, or `*`.
    private static func isHost(_ text: String) -> Bool {
        let name = text == "*" ? "x" : text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
        return !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }

    private mutating func readCommand() -> ToolDescription.CommandAction? {
        guard let arguments = entry.names(.command), let program = arguments.first, program.hasPrefix("/") else {
            entry.report(
                .command, "must be a list of texts, the path of the program first, such as [\"/usr/bin/uptime\"]")
            return nil
        }
        var action = ToolDescription.CommandAction(arguments: arguments, directory: directory())
        action.memory = entry.bytes(.memory, in: Self.memories) ?? action.memory
        return action
    }

    private mutating func directory() -> String? {
        let directory = entry.text(.directory)
        if let directory, !directory.hasPrefix("/") {
            entry.report(.directory, "must be a path that begins with a slash")
        }
        return directory
    }
}
