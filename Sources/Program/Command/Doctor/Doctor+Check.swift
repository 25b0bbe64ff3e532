import ChatterdBasics

extension Doctor {
    /// The result of one check.
    public struct Check: Sendable, Equatable, CustomStringConvertible {
        public let id: ID
        /// The thing checked.
        public let subject: String
        public let severity: Severity
        public let finding: String
        /// What to do about it; empty if the check has passed.
        public let advice: String

        /// The limit of a finding, in Unicode scalars: a part of it may be what a server has said.
        private static let maximumFinding = 1_000

        private init(_ id: ID, _ subject: String?, _ severity: Severity, _ finding: String, advice: String = "") {
            self.id = id
            self.subject = subject ?? id.subject
            self.severity = severity
            self.finding = finding
            self.advice = advice
        }

        /// A check that has passed.
        public static func fine(_ id: ID, of subject: String? = nil, _ finding: String) -> Check {
            Check(id, subject, .ok, finding)
        }

        /// A finding with which the server works, for now or not as well as it could.
        public static func doubtful(
            _ id: ID, of subject: String? = nil, _ finding: String, advice: String
        ) -> Check {
            Check(id, subject, .warning, finding, advice: advice)
        }

        /// A check that has failed.
        public static func wrong(_ id: ID, of subject: String? = nil, _ finding: String, advice: String) -> Check {
            Check(id, subject, .failure, finding, advice: advice)
        }

        /// One line.
        public var description: String {
            switch severity {
            case .ok: "ok    \(subject): \(finding)"
            case .warning: "warn  \(subject): \(finding); \(advice)"
            case .failure: "FAIL  \(subject): \(finding); \(advice)"
            }
        }

        /// The check without the secrets, in one line. It is cut afterwards: a part of a secret would not be found.
        func concealing(_ secrets: [String]) -> Check {
            func concealed(_ text: String) -> String {
                // A shorter text is a part of many words.
                secrets.filter { $0.utf8.count >= 4 }.reduce(text) { $0.replacing($1, with: "(secret)") }
            }
            let finding = concealed(finding).oneLine(upTo: Self.maximumFinding)
            return Check(id, concealed(subject), severity, finding, advice: concealed(advice))
        }

        /// Writes the check as an object.
        func write(to json: inout JSONWriter) {
            json.object { json in
                json.member("id", id.rawValue)
                json.member("severity", severity.rawValue)
                json.member("subject", subject)
                json.member("finding", finding)
                json.member("advice", advice.isEmpty ? nil : advice)
            }
        }
    }

    /// The kinds of checks. Scripts know them by their raw values.
    public enum ID: String, Sendable, CaseIterable {
        case configuration
        case openFiles = "open_files"
        case listener
        case certificate
        case database
        case clock
        case tables
        case connections
        case migrations
        case writing
        case isolation
        case functions
        case schema
        case modelList = "model_list"
        case modelServer = "model_server"
        case chat
        case issuer
        case toolServer = "tool_server"
        case collector
        case through

        /// The name of the thing, for people.
        fileprivate var subject: String {
            switch self {
            case .database: "PostgreSQL"
            default: String(rawValue.map { $0 == "_" ? " " : $0 })
            }
        }
    }

    /// How bad a finding is. The worst one of a run decides about the exit code.
    public enum Severity: String, Sendable, CaseIterable {
        case ok
        case warning
        case failure

        /// The exit code of a run with this as its worst finding, as programs of monitoring systems have it.
        public var exitCode: Int32 {
            switch self {
            case .ok: 0
            case .warning: 1
            case .failure: 2
            }
        }
    }
}
