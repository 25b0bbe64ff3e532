import ChatterdBasics
import ChatterdConfiguration
import ChatterdIdentity

extension KeysRequest {
    /// Reads the arguments that follow `chatterd keys`.
    ///
    /// - Throws: an error that says which argument is wrong.
    init(arguments: ArraySlice<String>) throws(UsageError) {
        guard let name = arguments.first else {
            throw UsageError("keys needs one of create, list, revoke and rotate")
        }
        var options = CommandOptions(arguments.dropFirst())
        switch name {
        case "create": self = try Self.create(&options)
        case "list": self = .list(app: try Self.app(&options))
        case "revoke": self = .revoke(try Self.id(&options, of: name))
        case "rotate":
            let overlap = try options.duration("--overlap")
            self = .rotate(try Self.id(&options, of: name), overlap: overlap ?? Self.standardOverlap)
        default:
            throw UsageError("keys has create, list, revoke and rotate, not \"\(SettingText.excerpt(name))\"")
        }
        try options.requireEmpty("keys \(name)")
    }

    private static func create(_ options: inout CommandOptions) throws(UsageError) -> KeysRequest {
        guard let app = try app(&options) else {
            throw UsageError("keys create needs --app NAME: the appID that the key belongs to")
        }
        var grant = AppKeyGrant(app: app)
        if let label = try options.value("--label") {
            guard Owner.isName(label), label.unicodeScalars.count <= AppKey.maximumLabelLength else {
                throw UsageError(
                    "--label has at most \(AppKey.maximumLabelLength) characters, without control characters")
            }
            grant.label = label
        }
        if let words = try options.list("--scopes") {
            let scopes = words.map { Scope(rawValue: $0) }
            guard !scopes.isEmpty, !scopes.contains(nil) else {
                let all = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("--scopes is a list of \(all), such as --scopes chat,read")
            }
            grant.scopes = Set(scopes.compactMap { $0 })
        }
        if let models = try options.list("--models") {
            guard 1...AppKey.maximumModels ~= models.count else {
                throw UsageError("--models lists 1 to \(AppKey.maximumModels) models, such as --models llama3.2,qwen3")
            }
            grant.models = models
        }
        grant.allowance = Allowance(
            requestsPerMinute: try options.number("--requests-per-minute", upTo: Allowance.highestLimit),
            tokensPerDay: try options.number("--tokens-per-day", upTo: Allowance.highestLimit),
            concurrentReplies: try options.number("--concurrent-replies", upTo: Allowance.highestLimit))
        return .create(grant, lifetime: try options.duration("--expires"))
    }

    private static func app(_ options: inout CommandOptions) throws(UsageError) -> String? {
        guard let app = try options.value("--app") else { return nil }
        guard 1...Owner.maximumAppLength ~= app.unicodeScalars.count, Owner.isName(app) else {
            throw UsageError("--app has 1 to \(Owner.maximumAppLength) characters, without control characters")
        }
        return app
    }

    private static func id(_ options: inout CommandOptions, of name: String) throws(UsageError) -> String {
        guard let id = options.next() else {
            throw UsageError("keys \(name) needs the id of a key, as keys list shows it")
        }
        return id
    }
}
