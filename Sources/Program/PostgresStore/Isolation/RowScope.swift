import ChatterdBasics
import ChatterdIdentity

/// The rows that the statements of a request may read and change: those of one owner.
///
/// Each transaction that touches conversations sets its scope first (`TransactionPreamble.rowScope`). PostgreSQL's row-level security
/// enforces it, independently of the checks in the handlers (docs/access.md, "Two checks").
public struct RowScope: Sendable, Equatable {
    /// The scope of the request that the current task serves; `nil` outside of requests.
    ///
    /// A transaction outside of requests has the scope of the conversation that it is about.
    @TaskLocal public static var current: RowScope?

    /// The value of the setting `chatterd.owner`: the beginning of the keys of the owner's conversations.
    let setting: String

    /// Compares bytes, as PostgreSQL does.
    public static func == (left: RowScope, right: RowScope) -> Bool {
        ExactText(left.setting) == ExactText(right.setting)
    }

    /// The rows of an owner.
    public init(_ owner: Owner) {
        setting = owner.keyPrefix
    }

    private init(setting: String) {
        self.setting = setting
    }

    /// All rows, for requests without a credential in `open` mode.
    public static let allRows = RowScope(setting: "*")
    /// No rows, for credentials without an app.
    public static let noRows = RowScope(setting: "")
}
