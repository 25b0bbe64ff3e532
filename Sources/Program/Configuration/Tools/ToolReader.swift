import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
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

    /// The limit of a list, and of a text in bytes.
    private static let countLimit = 128
    private static let textLimit = 8_192
    private static let timeouts = Duration.milliseconds(100)...Duration.seconds(600)
    private static let sizes = 1_024...1 << 20
    private static let memories = 16 << 20...64 << 30

    /// A tool, or a server that has tools; neither if there are problems.
    private(set) var tool: ToolDescription?
    private(set) var server: MCPDescription?
    /// The name in the entry, valid or not, for messages.
    private(set) var name: String?
    /// One sentence for each problem.
    private(set) var problems: [String] = []

    private let values: [Name: JSONSlice]

    /// Reads an object; `null` counts as absent.
    ///
    /// - Throws: `wrongType` for another value.
    init(of object: JSONSlice) throws(JSONError) {
        let fields = try ObjectFields<Name>(of: object)
        (values, problems) = (fields.values, fields.problems)
        name = requiredText(.name)
        if let name, !Self.isName(name) {
            report(.name, "must be 1 to 64 letters, digits, underscores and hyphens")
        }
        let terms = readTerms()
        if values[.mcp] != nil { readServer(terms) } else { readTool(terms) }
    }

    private mutating func readTerms() -> ToolTerms {
        var terms = ToolTerms()
        terms.apps = names(.apps) ?? []
        terms.timeout = duration(.timeout) ?? terms.timeout
        terms.maximumSize = bytes(.maximumSize, in: Self.sizes) ?? terms.maximumSize
        terms.isIdempotent = flag(.isIdempotent) ?? false
        terms.approval = approval()
        terms.isParallel = flag(.isParallel) ?? false
        return terms
    }

    private mutating func readTool(_ terms: ToolTerms) {
        let description = requiredText(.description) ?? ""
        let action = readAction()
        refuse([.tools, .environment], "mcp")
        let parameters = values[.parameters]?.bytes ?? Array(#"{"type":"object","properties":{}}"#.utf8)
        if let value = values[.parameters], value.last("type", .string)?.string != "object" {
            report(.parameters, "must be a JSON schema with \"type\":\"object\"")
        }
        checkArguments(of: action)
        guard problems.isEmpty, let name, let action else { return }
        do throws(JSONSchemaError) {
            tool = try ToolDescription(name: name, description: description, parameters: parameters, action: action)
            tool?.terms = terms
        } catch {
            report(.parameters, "cannot be used: \(error.reason)")
        }
    }

    private mutating func readServer(_ terms: ToolTerms) {
        for other in [Name.url, .command, .description, .parameters, .method, .hosts, .pointer]
        where values[other] != nil {
            report(other, "is of no use with mcp: the server describes its tools")
        }
        let transport = values[.mcp]?.kind == .array ? readServerProgram() : readServerURL()
        let tools = names(.tools)
        guard problems.isEmpty, let name, let transport else { return }
        var server = MCPDescription(name: name, transport: transport)
        server.tools = tools
        server.terms = terms
        self.server = server
    }

    private mutating func readServerURL() -> MCPDescription.Transport? {
        refuse([.directory, .memory, .environment], "a list of arguments as mcp")
        let (fields, allowsPrivate) = (readHeaders(), flag(.allowsPrivate) ?? false)
        guard let text = text(.mcp) else { return nil }
        do throws(UsageError) {
            let url = try URLTemplate(parsing: text)
            guard let origin = url.origin, url.names.isEmpty else {
                throw UsageError("must not name arguments")
            }
            return .http(
                MCPDescription.HTTPTransport(
                    origin: origin, path: url.fixedPath, fields: fields, allowsPrivate: allowsPrivate))
        } catch {
            report(.mcp, error.description)
            return nil
        }
    }

    private mutating func readServerProgram() -> MCPDescription.Transport? {
        refuse([.headers, .allowsPrivate], "a URL as mcp")
        guard let arguments = names(.mcp), arguments.first?.hasPrefix("/") ?? false else {
            report(.mcp, "must be a URL, or a list of texts, the path of a program first")
            return nil
        }
        var program = MCPDescription.Program(arguments: arguments)
        program.directory = directory() ?? program.directory
        program.memory = bytes(.memory, in: Self.memories)
        guard let value = values[.environment] else { return .program(program) }
        for member in value.members(first: Self.countLimit) ?? [] {
            let isName = !member.name.isEmpty && !member.name.contains("=") && !member.name.utf8.contains(0)
            guard isName, let text = member.value.storableString else {
                report(.environment, "must be an object of names and texts")
                return nil
            }
            program.variables.append("\(member.name)=\(text)")
        }
        if value.kind != .object { report(.environment, "must be an object of names and texts") }
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
        switch (values[.url] != nil, values[.command] != nil) {
        case (true, true):
            problems.append("url and command are both set: keep one of them")
            return nil
        case (false, false):
            problems.append("url, command or mcp is missing")
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
        for name in names where values[name] != nil { report(name, "is of use with \(other) only") }
    }

    private mutating func readRequest() -> ToolDescription.HTTPAction? {
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        let method = text(.method) ?? "GET"
        if !methods.contains(method) { report(.method, "must be \(methods.joined(separator: ", "))") }
        let (fields, hosts, allowsPrivate) = (readHeaders(), names(.hosts) ?? [], flag(.allowsPrivate) ?? false)
        var pointer: JSONPointer?
        do throws(UsageError) {
            pointer = try text(.pointer).map { (text) throws(UsageError) in try JSONPointer(parsing: text) }
        } catch {
            report(.pointer, error.description)
        }
        guard let text = text(.url) else { return nil }
        do throws(UsageError) {
            let url = try URLTemplate(parsing: text)
            if url.origin == nil, hosts.isEmpty {
                report(.hosts, "is missing: it lists the hosts that a URL of the model may name, or * for any")
            }
            if !hosts.allSatisfy(Self.isHost) {
                report(.hosts, "must be names of hosts such as api.example, *.example or *, without a scheme")
            }
            if url.origin != nil, !hosts.isEmpty { report(.hosts, "is of use with a url such as {url} only") }
            return ToolDescription.HTTPAction(
                method: Method(method) ?? .get, url: url, fields: fields, hosts: hosts,
                allowsPrivate: allowsPrivate, pointer: pointer)
        } catch {
            report(.url, error.description)
            return nil
        }
    }

    /// Reports arguments of the URL that the schema does not have.
    private mutating func checkArguments(of action: ToolDescription.Action?) {
        guard case .http(let request) = action else { return }
        let known = values[.parameters]?.last("properties", .object)?.members(first: .max)?.map(\.name) ?? []
        for name in request.url.names where !known.contains(name) {
            report(.url, "names {\(SettingText.excerpt(name))}, which parameters does not have")
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

    private mutating func readHeaders() -> Fields {
        var fields = Fields()
        guard let value = values[.headers] else { return fields }
        guard let members = value.members(first: Self.countLimit) else {
            report(.headers, "must be an object of field names and values")
            return fields
        }
        for member in members {
            guard let name = FieldName(member.name),
                let value = member.value.string.flatMap({ FieldValue(validating: $0) })
            else {
                report(.headers, "must be an object of field names and values")
                return fields
            }
            fields.add(name, value)
        }
        return fields
    }

    private mutating func readCommand() -> ToolDescription.CommandAction? {
        guard let arguments = names(.command), let program = arguments.first, program.hasPrefix("/") else {
            report(.command, "must be a list of texts, the path of the program first, such as [\"/usr/bin/uptime\"]")
            return nil
        }
        var action = ToolDescription.CommandAction(arguments: arguments, directory: directory())
        action.memory = bytes(.memory, in: Self.memories) ?? action.memory
        return action
    }

    private mutating func directory() -> String? {
        let directory = text(.directory)
        if let directory, !directory.hasPrefix("/") { report(.directory, "must be a path that begins with a slash") }
        return directory
    }

    // MARK: - Values

    private mutating func report(_ name: Name, _ problem: String) {
        problems.append("\(name.rawValue) \(problem)")
    }

    private mutating func requiredText(_ name: Name) -> String? {
        guard values[name] != nil else {
            report(name, "is missing")
            return nil
        }
        return text(name)
    }

    private mutating func text(_ name: Name) -> String? {
        guard let value = values[name] else { return nil }
        guard let text = value.storableString, 1...Self.textLimit ~= text.utf8.count else {
            report(name, "must be a text of 1 to \(Self.textLimit) bytes")
            return nil
        }
        return text
    }

    private mutating func names(_ name: Name) -> [String]? {
        guard let value = values[name] else { return nil }
        let elements = value.elements(first: Self.countLimit + 1)
        let texts = (elements ?? []).compactMap(\.storableString).filter { 1...Self.textLimit ~= $0.utf8.count }
        guard let elements, !elements.isEmpty, texts.count == elements.count, texts.count <= Self.countLimit else {
            report(name, "must be a list of texts")
            return nil
        }
        return texts
    }

    private mutating func flag(_ name: Name) -> Bool? {
        guard let value = values[name] else { return nil }
        guard let flag = value.boolean else {
            report(name, "must be true or false")
            return nil
        }
        return flag
    }

    private mutating func approval() -> Approval {
        guard let text = text(.approval) else { return .never }
        guard let approval = Approval(rawValue: text) else {
            let words = Approval.allCases.map(\.rawValue).joined(separator: ", ")
            report(.approval, "must be \(words)")
            return .never
        }
        return approval
    }

    private mutating func duration(_ name: Name) -> Duration? {
        guard let text = scalar(name) else { return nil }
        do throws(SettingProblem) {
            return try SettingText.duration(text, in: Self.timeouts)
        } catch {
            problems.append("\(name.rawValue): \(error.message)")
            return nil
        }
    }

    private mutating func bytes(_ name: Name, in range: ClosedRange<Int>) -> Int? {
        guard let text = scalar(name) else { return nil }
        do throws(SettingProblem) {
            return try SettingText.bytes(text, in: range)
        } catch {
            problems.append("\(name.rawValue): \(error.message)")
            return nil
        }
    }

    /// The text of a string or of a number.
    private mutating func scalar(_ name: Name) -> String? {
        guard let value = values[name] else { return nil }
        return value.kind == .number ? String(decoding: value.bytes, as: UTF8.self) : text(name)
    }
}
