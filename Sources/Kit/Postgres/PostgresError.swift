import CChatterdPostgres
import ChatterdBasics

/// A failure of PostgreSQL, or of the connection to it.
///
/// The message is for the log, never for clients. It is the server's message without its DETAIL, which quotes stored data.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The closed set of failures that a caller can tell apart.
    public enum Code: String, Sendable, CaseIterable {
        /// The connection string cannot be read.
        case invalidConfiguration
        /// No connection to the server could be made.
        case connectionFailed
        /// The connection broke before the batch was answered. Its outcome is unknown, unless `isSafeToRetry`.
        case connectionLost
        /// The time limit passed.
        case timedOut
        /// Too many batches are waiting, or the batch got no connection within the timeout.
        case overloaded
        /// The pool is shutting down.
        case shuttingDown
        /// A row with this key exists.
        case uniqueViolation
        /// Another constraint does not hold.
        case constraintViolation
        /// The server accepts no writes: it is a standby, or was set read-only.
        case readOnly
        /// Another transaction interfered. The same batch may succeed the next time.
        case serializationFailure
        /// Text that PostgreSQL cannot store: NUL, or not UTF-8.
        case invalidEncoding
        /// A table, column, function or type is missing.
        case undefinedObject
        /// The role lacks a privilege.
        case insufficientPrivilege
        /// The server has no memory, disk or connection left.
        case insufficientResources
        /// A migration that was applied has been changed since.
        case migrationChanged
        /// The database holds migrations that this program does not know.
        case databaseTooNew
        /// Any other refusal of the server.
        case other
    }

    /// The failure, for machines.
    public let code: Code
    /// The failure, for the log.
    public let message: String
    /// The server's five-letter code; `nil` if the server sent no error.
    public let sqlState: String?
    /// The name of the constraint that does not hold.
    public let constraint: String?
    /// Whether the server has certainly not committed the batch, and a retry may succeed.
    public let isSafeToRetry: Bool

    init(
        _ code: Code, _ message: String, sqlState: String? = nil, constraint: String? = nil,
        isSafeToRetry: Bool = false
    ) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
        self.isSafeToRetry = isSafeToRetry
    }

    /// The code, the server's code and the message.
    public var description: String {
        if let sqlState {
            "\(code.rawValue) (\(sqlState)): \(message)"
        } else {
            "\(code.rawValue): \(message)"
        }
    }
}

extension PostgresError {
    /// Reads the error fields of a result.
    init(result: OpaquePointer) {
        func field(_ letter: Int) -> String? {
            PQresultErrorField(result, Int32(letter)).map { String(cString: $0) }
        }
        let sqlState = field(cpostgres_sqlstate)
        let code = Code(sqlState: sqlState)
        var message = field(cpostgres_message) ?? ""
        if message.isEmpty {
            // libpq made this error itself: the connection broke.
            message = PQresultErrorMessage(result).map { Self.firstLine($0) } ?? "no message"
        }
        self.init(
            code, message, sqlState: sqlState, constraint: field(cpostgres_constraint),
            // A server that reports an error has rolled back. Only these errors may disappear at the next attempt.
            isSafeToRetry: [.serializationFailure, .timedOut, .insufficientResources, .readOnly].contains(code))
    }

    /// The first line of a message of libpq. The other lines repeat the statement, or give advice.
    static func firstLine(_ text: UnsafePointer<CChar>) -> String {
        let text = String(cString: text)
        return String(text.prefix { $0 != "\n" })
    }

    /// The same failure, after which the server has certainly rolled back.
    func safeToRetry() -> PostgresError {
        PostgresError(code, message, sqlState: sqlState, constraint: constraint, isSafeToRetry: true)
    }
}

extension PostgresError.Code {
    /// The server's codes with this meaning, as far as they have one of their own; `nil` for a failure that the server does not report.
    public var sqlStates: [String?] {
        switch self {
        case .invalidConfiguration, .overloaded, .shuttingDown, .migrationChanged, .databaseTooNew, .other: [nil]
        case .connectionFailed: [nil, "57P03", "28000", "28P01", "3D000"]
        case .connectionLost:
            [
                nil, "57P01", "57P02", "57P05", "08000", "08001", "08003", "08004", "08006", "08007", "08P01",
            ]
        case .timedOut: [nil, "57014", "55P03", "25P03"]
        case .uniqueViolation: ["23505"]
        case .constraintViolation: ["23000", "23001", "23502", "23503", "23514", "23P01"]
        case .readOnly: ["25006"]
        case .serializationFailure: ["40001", "40P01"]
        case .invalidEncoding: ["22021", "22P05"]
        case .undefinedObject: ["42P01", "42703", "42883", "42704", "3F000"]
        case .insufficientPrivilege: ["42501"]
        case .insufficientResources: ["53000", "53100", "53200", "53300", "53400"]
        }
    }

    /// The meaning of an SQLSTATE (PostgreSQL documentation, appendix A).
    init(sqlState: String?) {
        guard let state = sqlState else {
            self = .connectionLost
            return
        }
        if let code = Self.allCases.first(where: { $0.sqlStates.contains(state) }) {
            self = code
        } else if state.hasPrefix("08") {
            self = .connectionLost
        } else if state.hasPrefix("23") {
            self = .constraintViolation
        } else if state.hasPrefix("53") {
            self = .insufficientResources
        } else {
            self = .other
        }
    }
}
