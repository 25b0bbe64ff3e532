import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdSockets

extension Configuration {
    /// The credentials that requests need.
    public struct Access: Sendable, Equatable {
        /// Whether requests need a credential.
        public enum Mode: String, Sendable, CaseIterable {
            /// A request without a credential acts for the app that it names.
            case open
            /// Each request needs a credential.
            case keys
        }

        /// The mode of the setting; `nil` if it is absent.
        var configuredMode: Mode?
        /// The mode. Without the setting it is `open` only while every listener is on the loopback.
        public private(set) var mode = Mode.open
        /// Whether the server refuses requests that a proxy has passed on: only without the setting, because a listener on the loopback
        /// behind a proxy is not private.
        public private(set) var refusesForwardedRequests = false
        /// Whether `User-Agent` names the app of a request to a front door without a credential that names none.
        public internal(set) var namesAppsByUserAgent = false
        /// What the front doors do with what neither chatterd nor a model server can do.
        public internal(set) var doorPolicy = DoorPolicy.lenient
        /// The fields, or members of the body, in which programs send their own names of chats to the front doors. The first name that a
        /// conversation can have counts.
        public private(set) var chatNames = Self.knownChatNames
        /// The names of Open WebUI, Claude Code and Codex, and one for programs that let their operator choose.
        private static let knownChatNames = [
            "X-Chat-Id", "X-OpenWebUI-Chat-Id", "X-Claude-Code-Session-Id", "Session-Id", "Session_id",
            "prompt_cache_key",
        ].compactMap { FieldName($0) }
        /// The issuers whose tokens apps accept. They are read at the start only, their keys again at run time.
        public private(set) var issuers: [ExternalIssuer] = []
        /// Whether the server starts only if there is a key: it listens beyond the loopback, no issuer is configured, and without an
        /// admin token no key can be made through the API.
        public private(set) var needsKeyAtStart = false
        #if DEBUG
            /// Whether handlers check the principal. Only tests turn the checks off, to see what row-level security refuses alone. Release
            /// builds have no such switch.
            package var hasHandlerChecks = true
        #endif
    }
}

extension Configuration.Access {
    mutating func setChatNames(_ names: [String]) throws(SettingProblem) {
        let wrong = names.filter { FieldName($0) == nil }
        guard wrong.isEmpty else {
            throw SettingProblem(
                wrong.map { "\"\(SettingText.excerpt($0))\" is not the name of a field or member, such as X-Chat-Id" })
        }
        chatNames = names == ["none"] ? [] : names.compactMap { FieldName($0) }
    }

    mutating func setIssuers(_ text: String) throws(SettingProblem) {
        let list = IssuerList(text)
        issuers = list.issuers
        guard list.problems.isEmpty else { throw SettingProblem(list.problems) }
    }

    /// Chooses the mode if the setting does not.
    mutating func complete(_ server: Configuration.Server, hasAdminToken: Bool) {
        let isPrivate = [server.listen, server.tls?.listen].compactMap { $0 }.allSatisfy(\.isLoopback)
        mode = configuredMode ?? (isPrivate ? .open : .keys)
        refusesForwardedRequests = configuredMode == nil && mode == .open
        needsKeyAtStart = mode == .keys && !isPrivate && !hasAdminToken && issuers.isEmpty
    }
}

extension HostAndPort {
    /// Whether only programs of this machine reach the address: `localhost`, 127.0.0.0/8 or ::1.
    fileprivate var isLoopback: Bool {
        host.lowercased() == "localhost" || host == "::1"
            || (host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || 0x30...0x39 ~= $0 })
    }
}
