import ChatterdBasics
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdHooks
import ChatterdIdentity
import ChatterdTools

/// Reads one entry of `CHATTERD_HOOKS`, and collects all mistakes.
struct HookReader {
    /// The known members.
    enum Name: String, CaseIterable {
        case name
        case url
        case events = "on"
        case apps
        case headers
        case timeout
        case onFailure = "on_failure"
        case secret
        case text
    }

    private static let timeouts = Duration.milliseconds(100)...Duration.seconds(20)
    /// The sizes of a secret, in bytes, as Standard Webhooks has them.
    private static let secretSizes = 24...64
    private static let secretPrefix = "whsec_"

    /// The hook; `nil` if there are problems.
    private(set) var hook: Hook?
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
        if let name, name.utf8.count > 64 { entry.report(.name, "must have at most 64 bytes") }
        let target = readTarget()
        let events = readEvents()
        let apps = entry.apps(.apps)
        let fields = entry.headers(.headers)
        for name in ["content-type", "content-length", "webhook-id", "webhook-timestamp", "webhook-signature"]
        where FieldName(name).map(fields.contains) == true {
            entry.report(.headers, "must not have \(name), which chatterd writes")
        }
        let timeout = entry.duration(.timeout, in: Self.timeouts)
        let onFailure: Hook.FailurePolicy? = entry.word(.onFailure)
        let key = readSecret()
        let includesText = entry.flag(.text)
        if onFailure != nil, events == [.end] { entry.report(.onFailure, "is of use with prompt and answer only") }
        if includesText != nil, !events.contains(.end) { entry.report(.text, "is of use with end only") }
        if key == nil, events.contains(.end), entry.values[.secret] == nil {
            entry.report(.secret, "is missing: receivers of ends check the signature with it")
        }
        guard entry.problems.isEmpty, let name, let target else { return }
        var hook = Hook(name: name, origin: target.origin, path: target.path)
        hook.events = events
        hook.apps = apps
        hook.fields = fields
        hook.timeout = timeout ?? hook.timeout
        hook.onFailure = onFailure ?? hook.onFailure
        hook.key = key
        hook.includesText = includesText ?? false
        self.hook = hook
    }

    private mutating func readTarget() -> (origin: Origin, path: String)? {
        guard let text = entry.requiredText(.url) else { return nil }
        do throws(UsageError) {
            // A URL without a path means the root.
            let hasPath = text.firstRange(of: "://").map { text[$0.upperBound...].contains("/") } ?? true
            let url = try URLTemplate(parsing: hasPath ? text : text + "/")
            guard let origin = url.origin, url.names.isEmpty else { throw UsageError("must not have braces") }
            return (origin, url.fixedPath)
        } catch {
            entry.report(.url, error.description)
            return nil
        }
    }

    private mutating func readEvents() -> Set<Hook.Event> {
        let words = Hook.Event.allCases.map(\.rawValue).joined(separator: ", ")
        guard entry.values[.events] != nil else {
            entry.report(.events, "is missing: a list of \(words)")
            return []
        }
        let names = entry.values[.events]?.elements(first: Hook.Event.allCases.count + 1)?.map { $0.string ?? "" } ?? []
        let events = Set(names.compactMap(Hook.Event.init))
        if events.isEmpty || events.count < names.count {
            entry.report(.events, "must be a list of different ones of \(words)")
        }
        return events
    }

    private mutating func readSecret() -> AuthenticationKey? {
        guard let text = entry.text(.secret) else { return nil }
        let encoded = text.dropFirst(Self.secretPrefix.count).reversed().drop { $0 == "=" }.reversed()
        let digits = encoded.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        guard text.hasPrefix(Self.secretPrefix), let bytes = Base64URL.decode(String(digits)),
            Self.secretSizes.contains(bytes.count)
        else {
            entry.report(.secret, "must be whsec_ and the Base64 of 24 to 64 random bytes: openssl rand -base64 32")
            return nil
        }
        return AuthenticationKey(bytes: bytes)
    }
}
