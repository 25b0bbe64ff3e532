import ChatterModels

/// The types of the proposal's examples, without a macro.
struct ResearchPaper: Generable, Hashable {
    let title: String
    let authors: String
    let abstract: String
    let keywords: [String]

    static let schema = Schema.object("ResearchPaper") {
        Property("title", String.self)
        Property("authors", String.self)
        Property("abstract", String.self)
        Property(
            "keywords", [String].self, description: "Important topics in the paper as single words", .minimumCount(1),
            .maximumCount(10))
    }

    init(from content: StructuredContent) throws {
        title = try content.member("title")
        authors = try content.member("authors")
        abstract = try content.member("abstract")
        keywords = try content.member("keywords")
    }

    var generableContent: StructuredContent {
        [
            "title": .string(title), "authors": .string(authors), "abstract": .string(abstract),
            "keywords": keywords.generableContent,
        ]
    }
}

struct WeatherReport: Generable, Hashable {
    let temperature: Int
    let conditions: String
    let location: String

    static let schema = Schema.object("WeatherReport") {
        Property("temperature", Int.self)
        Property("conditions", String.self)
        Property("location", String.self)
    }

    init(from content: StructuredContent) throws {
        temperature = try content.member("temperature")
        conditions = try content.member("conditions")
        location = try content.member("location")
    }

    var generableContent: StructuredContent {
        [
            "temperature": .integer(temperature), "conditions": .string(conditions), "location": .string(location),
        ]
    }
}

struct User: Generable, Hashable {
    let name: String
    let age: Int?
    let favoriteColors: [String]

    static let schema = Schema.object("User") {
        Property("name", String.self, description: "Username", .pattern("^[a-zA-Z][a-zA-Z0-9_]{2,}$"))
        Property("age", Int?.self, description: "User age", .minimum(18))
        Property(
            "favoriteColors", [String].self, description: "User's favorite colors", .minimumCount(1), .maximumCount(3),
            .element(.anyOf("red", "green", "blue")))
    }

    init(from content: StructuredContent) throws {
        name = try content.member("name")
        age = try content.member("age")
        favoriteColors = try content.member("favoriteColors")
    }

    var generableContent: StructuredContent {
        ["name": .string(name), "age": age.generableContent, "favoriteColors": favoriteColors.generableContent]
    }
}

struct WeatherTool: Tool {
    let description = "Get current weather for a location"

    struct Arguments: Generable {
        let location: String

        static let schema = Schema.object("Arguments") {
            Property("location", String.self)
        }

        init(from content: StructuredContent) throws {
            location = try content.member("location")
        }

        var generableContent: StructuredContent { ["location": .string(location)] }
    }

    func call(arguments: Arguments) async throws -> String {
        "72°F, sunny in \(arguments.location)"
    }
}
