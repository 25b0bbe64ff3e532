// 14 to 26 of the forty samples: typed answers.
import ChatterLanguageModelSession
import Foundation
import Observation

@Generable(description: "A hotel")
package struct Hotel {
    @Guide(description: "A short name")
    var name: String
    @Guide(.range(1...5))
    var stars: Int
    @Guide(description: "What guests like", .count(3))
    var features: [String]
    var hasPool: Bool
    var phone: String?
}

/// 14. A type, and an answer of it.
package func sample14(session: LanguageModelSession) async throws -> Hotel {
    let response = try await session.respond(to: "Invent a hotel in Porto.", generating: Hotel.self)
    return response.content
}

@Generable
package struct Tour: Equatable {
    @Guide(description: "An exciting title")
    let title: String
    @Guide(.minimumCount(1), .maximumCount(3))
    let days: [TourDay]
}

@Generable
package struct TourDay: Equatable {
    let place: String
    let activity: TourActivity
}

@Generable
package enum TourActivity: Equatable {
    case sightseeing, food, shopping
}

/// 15. Types in types.
package func sample15(session: LanguageModelSession, place: String) async throws -> [TourDay] {
    let response = try await session.respond(
        to: Prompt("Plan a tour of \(place)."), generating: Tour.self, includeSchemaInPrompt: false,
        options: GenerationOptions(sampling: .greedy))
    return response.content.days
}

/// 16. A choice.
package func sample16(session: LanguageModelSession) async throws -> Bool {
    let response = try await session.respond(to: "What do tourists do in Tokyo?", generating: TourActivity.self)
    switch response.content {
    case .food: return true
    case .sightseeing, .shopping: return false
    }
}

@Generable
package enum Payment {
    case cash
    case card(number: String)
    case transfer(bank: String, amount: Double)
}

/// 17. A choice with values.
package func sample17(session: LanguageModelSession) async throws -> String {
    switch try await session.respond(to: "How does the guest pay?", generating: Payment.self).content {
    case .cash: "cash"
    case .card(let number): number
    case .transfer(let bank, let amount): "\(bank) \(amount)"
    }
}

@Generable
package struct Ticket {
    @Guide(description: "The class of the seat", .anyOf(["first", "second"]))
    var seat: String
    @Guide(description: "The kind of the ticket", .constant("return"))
    var kind: String
    @Guide(description: "Three letters and two digits", .pattern(/[A-Z]{3}\d{2}/))
    var code: String
}

/// 18. Conditions for texts, with a regular expression.
package func sample18(session: LanguageModelSession) async throws -> String {
    try await session.respond(to: "Sell a ticket.", generating: Ticket.self).content.code
}

@Generable
package struct Offer {
    @Guide(description: "Of a hundred", .range(0...100))
    var discount: Int
    @Guide(.minimum(0.5), .maximum(9.5))
    var weight: Double
    @Guide(.range(0.0...1.0))
    var probability: Float
    @Guide(.minimum(1))
    var price: Decimal
    @Guide(.maximumCount(4), .element(.range(1...6)))
    var dice: [Int]
}

/// 19. Conditions for numbers, of four types.
package func sample19(session: LanguageModelSession) async throws -> Decimal {
    let offer = try await session.respond(to: "Make an offer.", generating: Offer.self).content
    return offer.price * Decimal(offer.dice.count)
}

/// 20. Arrays of types.
package func sample20(session: LanguageModelSession) async throws -> [String] {
    try await session.respond(to: "List hotels.", generating: [Hotel].self).content.map(\.name)
}

/// 21. Numbers, truth and text as answers.
package func sample21(session: LanguageModelSession) async throws -> String {
    let count = try await session.respond(to: "How many?", generating: Int.self).content
    let isTrue = try await session.respond(to: "Is it so?", generating: Bool.self).content
    let name: LanguageModelSession.Response<String> = try await session.respond(to: "Who?", generating: String.self)
    return "\(count + 1) \(isTrue) \(name.content)"
}

/// 22. A prompt as a closure, with a type.
package func sample22(session: LanguageModelSession) async throws -> Tour {
    let example = Tour(title: "Onsen", days: [TourDay(place: "Hakone", activity: .sightseeing)])
    return try await session.respond(generating: Tour.self) {
        "Plan a tour."
        "Here is an example:"
        example
    }.content
}

/// 23. A value that grows.
package func sample23(session: LanguageModelSession, show: (String) -> Void) async throws {
    let stream = session.streamResponse(to: "Plan a tour of Rome.", generating: Tour.self)
    for try await partial in stream {
        if let title = partial.content.title { show(title) }
        for day in partial.content.days ?? [] {
            show(day.place ?? "…")
        }
    }
}

/// 24. A whole value after its parts, and its JSON.
package func sample24(session: LanguageModelSession) async throws -> (Tour, String) {
    let stream = session.streamResponse(generating: Tour.self) { "Plan a tour of Rome." }
    let response = try await stream.collect()
    return (response.content, response.rawContent.jsonString)
}

/// 25. A model of a view: the state is observed.
@MainActor @Observable package final class TourPlanner {
    package private(set) var tour: Tour.PartiallyGenerated?
    package var error: (any Error)?
    private let session: LanguageModelSession

    package init() {
        session = LanguageModelSession(instructions: "You plan tours.")
    }

    package func plan() async {
        do {
            let stream = session.streamResponse(to: "Plan a tour.", generating: Tour.self)
            for try await partial in stream {
                tour = partial.content
            }
        } catch {
            self.error = error
        }
    }

    package var isBusy: Bool { session.isResponding }
}

/// 26. The form and the JSON of a type.
package func sample26(hotel: Hotel) throws -> String {
    print(Hotel.generationSchema)
    let content = hotel.generatedContent
    let copy = try Hotel(content)
    let again = try GeneratedContent(json: content.jsonString)
    return copy.name + (try again.value(String.self, forProperty: "name"))
}
