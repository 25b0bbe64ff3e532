import ChatterMacros

@Generable
struct ResearchPaper: Hashable {
    let title: String
    let authors: String
    let abstract: String
    @Guide(description: "Important topics in the paper as single words", .minimumCount(1), .maximumCount(10))
    let keywords: [String]
}

@Generable
struct WeatherReport: Hashable {
    let temperature: Int
    let conditions: String
    let location: String
}

@Generable(description: "A user of the app")
struct User: Hashable {
    @Guide(description: "Username", .pattern(#"^[a-zA-Z]\w{2,}$"#))
    let name: String
    @Guide(description: "User age", .minimum(18))
    let age: Int?
    @Guide(
        description: "User's favorite colors", .minimumCount(1), .maximumCount(3),
        .element(.anyOf("red", "green", "blue")))
    let favoriteColors: [String]
}

struct WeatherTool: Tool {
    let description = "Get current weather for a location"

    @Generable
    struct Arguments {
        let location: String
    }

    func call(arguments: Arguments) async throws -> String {
        "72°F, sunny in \(arguments.location)"
    }
}

/// All that a structure may have.
@Generable
public struct Journey: Hashable, Sendable {
    /// A member type.
    @Generable public struct Stop: Hashable, Sendable {
        public let city: String
        @Guide(.range(1...30)) public let nights: Int
        public let position: [Double]?
    }

    public let `class`: Comfort
    public var stops: [Stop], alternative: Stop?
    public var isOpen: Bool { didSet { changes += 1 } }
    @Guide(.range(0...0.5)) public let discount: Optional<Double>
    public let names: Array<String?>
    // Not of the model:
    public let version = 1
    var changes: Int = 0
    static let limit: Int = 3
    var count: Int { stops.count }
    func cost(_ price: (Int) -> Int) -> Int { price(stops.count) }
    private let pattern = #"[{"]"#
}

@Generable
public enum Comfort: Sendable { case first, `default`, standing }

@Generable(description: "What to do")
enum Step: Hashable {
    case wait
    case walk(minutes: Int, to: String?)
    case say(String)
    indirect case both(_ first: Int = 1)
    indirect case all(comforts: [Comfort], rest: Double)
}

@Generable
enum Level: String, CaseIterable {
    case low
    case high = "HIGH \"5\""
}

@Generable
struct Empty: Hashable {}

@Generable
struct Pair<First: Generable, Second: Generable> {
    let first: First
    let second: [Second]
}

extension Pair where First == Int, Second == Int {
    @Generable
    struct Place {
        let x: Int
    }
}

/// A type of a module whose declarations are isolated to the main actor.
@MainActor @Generable
struct Screen {
    var title: String
    let levels: [Level]
}

/// Types that are nested beside each other, as in the samples of FoundationModels.
enum Contacts {
    @Generable
    enum Kind {
        case person, company
    }

    @Generable
    enum Reach {
        case mail(address: String, kind: Kind)
        case none
    }

    @Generable
    struct Entry: Equatable {
        @Guide(description: "Whom to find")
        let kind: Kind
        let others: [Kind]
        var last: Kind?
        let reach: Reach?

        static func == (left: Entry, right: Entry) -> Bool { left.generableContent == right.generableContent }
    }
}
