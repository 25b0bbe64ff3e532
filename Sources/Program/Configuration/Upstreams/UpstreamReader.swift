import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdModelServers
import ChatterdRelay

/// Reads the description of a model server from its JSON form, and collects all mistakes.
public struct UpstreamReader {
    /// The source of an object, which decides how it may name its key.
    public enum Source: Equatable {
        /// `CHATTERD_UPSTREAMS`. It may contain the key itself.
        case environment
        /// The database table. It says only whether a configuration contains the key.
        case table
        /// A request. It names keys by reference only, and only certain variables and files.
        case request(keyDirectory: String?)
    }

    /// The limits of an entry that does not state its own.
    public struct Defaults: Sendable, Equatable {
        /// The time to connect.
        public var connectTimeout = Duration.seconds(5)
        /// The limits of an answer.
        public var limits = GenerationLimits()
    }

    /// The description; `nil` if there are problems.
    public private(set) var description: UpstreamDescription?
    /// The models of the server. They are readable even if other members have mistakes.
    public private(set) var names = UpstreamNames(server: "")
    /// The name in the object, valid or not, for messages.
    let name: String?
    /// One sentence for each problem.
    public var problems: [String] { fields.problems }

    private var fields: UpstreamFields
    private let source: Source

    /// Whether a text is a name: 1 to 64 of these bytes, but no `.` or `..`, which clients remove from paths.
    static func isName(_ text: String) -> Bool {
        1...64 ~= text.utf8.count && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Reads an object.
    ///
    /// - Parameter standardName: the name of an object that contains none.
    /// - Throws: `wrongType` for another value.
    init(
        of object: JSONSlice, _ source: Source, defaults: Defaults, name standardName: String? = nil
    ) throws(JSONError) {
        // Responses of the API show these members beside a description, so requests may contain them.
        let ignored: Set<String> = source == .environment ? [] : ["origin", "problem"]
        fields = try UpstreamFields(of: object, ignoring: ignored)
        self.source = source
        let name = fields.text(.name, isRequired: standardName == nil) ?? standardName
        self.name = name
        if let name, !Self.isName(name) {
            fields.report(.name, "must be 1 to 64 letters, digits, dots, underscores and hyphens")
        }
        let kind = readKind()
        let url = kind == nil || kind == .echo ? nil : readURL()
        let key = readKey()
        if kind == .echo {
            for field in [UpstreamFields.Name.url, .key, .keyEnvironment, .keyFile, .headers, .authorities]
            where fields.has(field) {
                fields.report("the kind echo takes no \(field.rawValue)")
            }
        }
        var description = UpstreamDescription(name: name ?? "", kind: kind ?? .echo, url: url ?? "")
        description.key = key
        readConnection(&description, defaults)
        readModels(&description)
        names = UpstreamNames(description)
        self.description = fields.problems.isEmpty ? description : nil
    }

    /// Reads a text that is one object.
    ///
    /// - Throws: if the text is not JSON, or not an object.
    public init(_ text: [UInt8], _ source: Source, defaults: Defaults, name: String? = nil) throws(JSONError) {
        try self.init(of: try JSONSlice(text), source, defaults: defaults, name: name)
    }

    /// Reads the description in a row of the table.
    ///
    /// - Throws: the problem if the row is not JSON.
    public static func row(
        _ text: [UInt8], _ source: Source, defaults: Defaults
    ) throws(UpstreamKeys.Problem) -> UpstreamReader {
        do throws(JSONError) {
            return try UpstreamReader(text, source, defaults: defaults)
        } catch {
            throw UpstreamKeys.Problem(message: "its description is not JSON: \(error)", reason: .description)
        }
    }

    private mutating func readConnection(_ description: inout UpstreamDescription, _ defaults: Defaults) {
        description.fields = readHeaders()
        description.authorities = readAuthorities()
        description.allowsLinkLocal = fields.flag(.allowsLinkLocal) ?? false
        description.connectTimeout =
            fields.duration(.connectTimeout, .upstreamConnectTimeout) ?? defaults.connectTimeout
        var limits = defaults.limits
        limits.firstByte = fields.duration(.firstByteTimeout, .upstreamFirstByteTimeout) ?? limits.firstByte
        limits.silence = fields.duration(.silenceTimeout, .upstreamSilenceTimeout) ?? limits.silence
        limits.total = fields.duration(.totalTimeout, .upstreamTotalTimeout) ?? limits.total
        description.limits = limits
    }

    private mutating func readModels(_ description: inout UpstreamDescription) {
        description.models = fields.names(.models) ?? []
        for alias in fields.pairs(.aliases, of: "names with the model of each") ?? [] {
            description.aliases[alias.name] = alias.value
        }
        description.priority = fields.number(.priority, in: -1_000...1_000) ?? 0
        description.slots = fields.number(.slots, in: 1...10_000)
        description.queueLimit = fields.number(.queueLimit, in: 0...1_000_000) ?? description.queueLimit
        description.defaults = [fields.object(.options), fields.scalar(.keepAlive)].compactMap(\.self)
        description.contextLength = fields.number(.context, in: 256...1 << 31)
        if let text = fields.text(.continuation) {
            if let continuation = UpstreamDescription.Continuation(word: text) {
                description.continuation = continuation
            } else {
                let words = UpstreamDescription.Continuation.allCases.map(\.rawValue).joined(separator: ", ")
                fields.report(.continuation, "must be one of \(words)")
            }
        }
    }

    private mutating func readKind() -> UpstreamDescription.Kind? {
        guard let text = fields.text(.kind, isRequired: true) else { return nil }
        guard let kind = UpstreamDescription.Kind(word: text) else {
            let kinds = UpstreamDescription.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            fields.report("\"\(SettingText.excerpt(text))\" is not a kind; there are \(kinds)")
            return nil
        }
        return kind
    }

    private mutating func readURL() -> String? {
        guard let text = fields.text(.url, isRequired: true) else { return nil }
        do {
            return try UpstreamURL(parsing: text).description
        } catch {
            fields.report("url: \(error.message)")
            return nil
        }
    }

    private mutating func readHeaders() -> [UpstreamDescription.Field] {
        let pairs = fields.pairs(.headers, of: "field names and values") ?? []
        guard pairs.count <= 32 else {
            fields.report(.headers, "must be at most 32")
            return []
        }
        return pairs.compactMap { pair in
            guard let name = FieldName(pair.name), FieldValue(validating: pair.value) != nil else {
                fields.report(.headers, "must be an object of field names and values")
                return nil
            }
            switch name.description {
            case "authorization", "proxy-authorization", "cookie", "api-key", "x-api-key":
                // Headers are stored and shown.
                fields.report(.headers, "must hold no secret such as \(name): use key_env or key_file")
            case "host", "content-length", "content-type", "transfer-encoding", "connection", "keep-alive", "te",
                "trailer", "upgrade", "expect", "accept-encoding":
                fields.report(.headers, "must not hold \(name): chatterd sets it")
            default: break
            }
            return UpstreamDescription.Field(name: pair.name, value: pair.value)
        }
    }

    private mutating func readAuthorities() -> String? {
        guard let path = fields.text(.authorities) else { return nil }
        return allowed(path, .authorities)
    }

    private mutating func readKey() -> UpstreamDescription.Key? {
        let given = [UpstreamFields.Name.key, .keyEnvironment, .keyFile].filter(fields.has)
        guard given.count <= 1 else {
            fields.report("\(given.map(\.rawValue).joined(separator: " and ")) are both set: keep one of them")
            return nil
        }
        if let name = fields.text(.keyEnvironment) {
            return variable(name)
        }
        if let path = fields.text(.keyFile) {
            return allowed(path, .keyFile).map(UpstreamDescription.Key.file)
        }
        guard let key = fields.text(.key) else { return nil }
        switch source {
        case .environment:
            guard UpstreamKeys.isKey(key) else {
                fields.report(.key, "must be visible ASCII characters")
                return nil
            }
            return .given(key)
        case .table:
            return .given("")
        case .request:
            fields.report("a key is not sent to the API: name it by key_env or key_file")
            return nil
        }
    }

    private mutating func variable(_ name: String) -> UpstreamDescription.Key? {
        guard UpstreamKeys.isVariable(name), !name.hasPrefix("CHATTERD_") else {
            fields.report(.keyEnvironment, "must be the name of a variable that is not chatterd's own")
            return nil
        }
        guard source == .environment || source == .table || UpstreamKeys.isVariableOfKeys(name) else {
            fields.report(.keyEnvironment, "must be the name of a variable that ends in _KEY or _TOKEN")
            return nil
        }
        return .environment(name)
    }

    /// A path, if the source may name it: a request names paths below the directory of keys only.
    private mutating func allowed(_ path: String, _ name: UpstreamFields.Name) -> String? {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            fields.report(name, "must be a path that begins with a slash")
            return nil
        }
        guard case .request(let directory) = source else { return path }
        guard let directory else {
            fields.report(name, "is taken only with CHATTERD_KEY_DIR, which is not set")
            return nil
        }
        guard UpstreamKeys.isPath(path, below: directory) else {
            fields.report(name, "must be below CHATTERD_KEY_DIR, \(directory)")
            return nil
        }
        return path
    }
}
