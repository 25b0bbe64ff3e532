/// A JSON Schema (2020-12) that values are checked against: read once, so that a check depends on no faulty schema.
///
/// It checks a documented subset (docs/schemas.md). Keywords that it cannot check are listed in `unchecked`: a value may violate these. A
/// violation that it reports is always one of the whole schema.
public struct JSONSchema: Sendable {
    /// The limit of a schema, in bytes.
    public static let maximumBytes = 256 << 10
    /// The limit of the values in a schema.
    public static let maximumValues = 32_768
    /// The limit of a checked text, in bytes.
    public static let maximumText = 4 << 20
    /// The limit of the values in a checked text.
    public static let maximumTextValues = 262_144
    /// The limit of the steps of a check (`JSONSchemaCheck`).
    public static let maximumSteps = 2_000_000
    /// The steps up to which a check may stay on an event loop: some milliseconds.
    public static let quickSteps = 32_768
    /// The limit of the steps of all patterns in a schema; each takes 24 bytes.
    static let maximumPatternSteps = 131_072
    /// The limit of the schemas that apply inside each other at one place of a check.
    public static let maximumNesting = 256
    /// The number of unchecked keywords that are listed.
    public static let maximumUnchecked = 16

    /// What a keyword demands. Schemas have numbers.
    enum Keyword: Sendable {
        case never
        case types([JSONType])
        /// The forms of the values, sorted.
        case values([[UInt8]], isConstant: Bool)
        case minimum(JSONDecimal, isExclusive: Bool)
        case maximum(JSONDecimal, isExclusive: Bool)
        case multiple(JSONDecimal)
        case lengths(least: Int, most: Int)
        case pattern(JSONPattern)
        case elements(prefix: [Int], rest: Int?)
        case elementCounts(least: Int, most: Int)
        case contains(Int, least: Int, most: Int)
        case uniqueElements
        case members(Members)
        case memberCounts(least: Int, most: Int)
        case required([[UInt8]])
        case requiredWith([(name: [UInt8], others: [[UInt8]])])
        case names(Int)
        case schemaWith([(name: [UInt8], schema: Int)])
        case reference(Int)
        case all([Int])
        case any([Int])
        case one([Int])
        case not(Int)
        case condition(if: Int, then: Int?, else: Int?)
    }

    /// The schemas of the members of an object.
    struct Members: Sendable {
        /// Sorted by name.
        var named: [(name: [UInt8], schema: Int)] = []
        var patterns: [(pattern: JSONPattern, schema: Int)] = []
        /// The schema of all others.
        var rest: Int?
    }

    /// The keywords of each schema.
    let schemas: [[Keyword]]
    /// The number of the outermost schema.
    let root: Int

    /// The JSON Pointers of keywords that are not checked, in no order: the first `maximumUnchecked` of them, and then "…" for others.
    public let unchecked: [String]

    /// Reads a schema.
    public init(_ text: [UInt8]) throws(JSONSchemaError) {
        var reader = try JSONSchemaReader(text)
        reader.read()
        schemas = reader.schemas.map(\.keywords)
        root = 0
        unchecked = reader.uncheckedPointers
    }

    /// The first violation in a JSON text; `nil` if it has the form of the schema.
    ///
    /// The time is bounded by `maximumText` and the steps: a text that takes more is a violation too, as it is not known to fit.
    public func violation(of text: [UInt8], steps: Int = JSONSchema.maximumSteps) -> JSONSchemaViolation? {
        guard text.count <= Self.maximumText else {
            return JSONSchemaViolation("is longer than the \(Self.maximumText) bytes that are checked")
        }
        let document: JSONDocument
        do throws(JSONDocument.Problem) {
            document = try JSONDocument(text, maximumValues: Self.maximumTextValues)
        } catch {
            return JSONSchemaViolation(error.reason)
        }
        var check = JSONSchemaCheck(self, of: document, steps: steps)
        return check.violation()
    }
}

extension JSONDocument.Problem {
    /// The reason as the end of a sentence.
    var reason: String {
        switch self {
        case .json(let error): "is not JSON: \(error)"
        case .tooManyValues: "has more values than are checked"
        case .repeatedName: "has an object with two members of one name"
        }
    }
}

/// The types of a schema.
enum JSONType: String, Sendable, CaseIterable {
    case null, boolean, object, array, number, string, integer
}
