/// A condition in `@Guide`. It has the names of `Constraint` without the type of the value, which the compiler does not know there;
/// `@Generable` writes the `Constraint`.
public struct GuideCondition: Sendable {
    private init() {}

    /// A part of the text matches a regular expression; `^` and `$` are the ends of the text.
    public static func pattern(_ expression: String) -> GuideCondition { GuideCondition() }

    /// The same with a literal `/…/`.
    public static func pattern<Output>(_ expression: Regex<Output>) -> GuideCondition { GuideCondition() }

    public static func constant(_ text: String) -> GuideCondition { GuideCondition() }

    public static func anyOf(_ texts: String...) -> GuideCondition { GuideCondition() }

    public static func anyOf(_ texts: [String]) -> GuideCondition { GuideCondition() }

    public static func minimum(_ value: Int) -> GuideCondition { GuideCondition() }

    public static func minimum(_ value: Double) -> GuideCondition { GuideCondition() }

    public static func maximum(_ value: Int) -> GuideCondition { GuideCondition() }

    public static func maximum(_ value: Double) -> GuideCondition { GuideCondition() }

    public static func range(_ range: ClosedRange<Int>) -> GuideCondition { GuideCondition() }

    public static func range(_ range: ClosedRange<Double>) -> GuideCondition { GuideCondition() }

    public static func count(_ count: Int) -> GuideCondition { GuideCondition() }

    public static func count(_ range: ClosedRange<Int>) -> GuideCondition { GuideCondition() }

    public static func minimumCount(_ count: Int) -> GuideCondition { GuideCondition() }

    public static func maximumCount(_ count: Int) -> GuideCondition { GuideCondition() }

    /// A condition for each element.
    public static func element(_ condition: GuideCondition) -> GuideCondition { GuideCondition() }
}
