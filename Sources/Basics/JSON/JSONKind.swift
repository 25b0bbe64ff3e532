/// The types of JSON values.
public enum JSONKind: Sendable {
    /// `{…}`.
    case object
    /// `[…]`.
    case array
    /// `"…"`.
    case string
    /// Digits, with or without sign, fraction and exponent.
    case number
    /// `true` or `false`.
    case boolean
    /// `null`.
    case null
}
