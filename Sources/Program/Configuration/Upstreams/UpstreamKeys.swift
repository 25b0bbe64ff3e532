import ChatterdBasics
import ChatterdChat
import ChatterdModelServers

/// Finds the keys that descriptions of model servers refer to.
public struct UpstreamKeys: Sendable {
    /// A reason why this process cannot ask a model server.
    public struct Problem: Error, Equatable {
        /// The problem in a few words, for clients.
        public enum Reason: String, Sendable {
            case key = "its key cannot be found"
            case url = "its URL cannot be used"
            case authorities = "its file of authorities cannot be used"
            case description = "its description has mistakes"
        }

        /// The reason for the operator, with names of variables and files, but never with a key.
        public let message: String
        /// The reason for clients.
        public let reason: Reason

        public init(message: String, reason: Reason = .key) {
            self.message = message
            self.reason = reason
        }
    }

    private let variables: [String: ConfigurationSecret]
    /// The keys in this process's own configuration, with their model servers.
    private let given: [(name: String, url: String, key: ConfigurationSecret)]
    private let readFile: ConfigurationFile.Read

    /// Keeps the variables of an environment that may contain a key.
    ///
    /// - Parameter own: the model servers of this process's own configuration.
    init(
        environment: [String: String] = [:], own: [UpstreamDescription] = [],
        readFile: @escaping ConfigurationFile.Read = ConfigurationFile.read
    ) {
        var named: Set<String> = []
        var given: [(name: String, url: String, key: ConfigurationSecret)] = []
        for upstream in own {
            switch upstream.key {
            case .environment(let name): named.insert(name)
            case .given(let key): given.append((upstream.name, upstream.url, ConfigurationSecret(key)))
            case .file, nil: break
            }
        }
        variables = environment.filter { variable in
            !variable.value.isEmpty && (Self.isVariableOfKeys(variable.key) || named.contains(variable.key))
        }.mapValues(ConfigurationSecret.init)
        self.given = given
        self.readFile = readFile
    }

    /// Finds the key of a model server; `nil` if the server needs none.
    public func key(of upstream: UpstreamDescription) throws(Problem) -> ConfigurationSecret? {
        guard let reference = upstream.key else { return nil }
        let secret: ConfigurationSecret
        switch reference {
        case .environment(let name):
            guard let value = variables[name] else {
                throw Problem(message: "the variable \(name) with its key is not set")
            }
            secret = value
        case .file(let path):
            switch readFile(path) {
            case .failure(let failure):
                throw Problem(message: "its key file \(path) cannot be read: \(failure.reason)")
            case .success(let text):
                secret = ConfigurationSecret(Self.trimmed(text))
            }
        case .given:
            // A key is sent only to the URL that the configuration states with it.
            guard let known = given.first(where: { $0.name == upstream.name && $0.url == upstream.url }) else {
                throw Problem(message: "its key stands in another process's CHATTERD_UPSTREAMS only")
            }
            secret = known.key
        }
        guard Self.isKey(secret.value) else {
            throw Problem(message: "its key is empty, or not visible ASCII characters")
        }
        return secret
    }

    /// Whether a text can be sent as a key.
    static func isKey(_ text: String) -> Bool {
        1...8_192 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Whether a text is the name of a variable.
    static func isVariable(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 200
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Whether a request may name a variable: its name ends as names of keys do, and it is not chatterd's own.
    static func isVariableOfKeys(_ name: String) -> Bool {
        isVariable(name) && !name.hasPrefix("CHATTERD_") && (name.hasSuffix("_KEY") || name.hasSuffix("_TOKEN"))
    }

    /// Whether a path leads below a directory, judged by its text.
    static func isPath(_ path: String, below directory: String) -> Bool {
        var directory = directory
        while directory.hasSuffix("/") { directory.removeLast() }
        let components = path.split(separator: "/", omittingEmptySubsequences: true)
        return path.hasPrefix(directory + "/") && !components.contains("..")
            && components.count > directory.split(separator: "/").count
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || 0x09...0x0D ~= $0 }
        let start = text.utf8.drop(while: isSpace)
        let end = start.reversed().drop(while: isSpace).count
        return String(Substring(start.prefix(end)))
    }
}
