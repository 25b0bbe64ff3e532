import ChatterdDialects
import ChatterdHTTP
import ChatterdRelay
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// docs/api.md against the code.
@Suite(.timeLimit(.minutes(30))) struct APIDocumentTests {
    private let text: String
    private let root: String

    init() throws {
        root = String(#filePath.prefix(upTo: try #require(#filePath.firstRange(of: "/Tests/")).lowerBound))
        text = try ConfigurationFile.read(root + "/docs/api.md").get()
    }

    /// The cells of the rows below a heading whose first cell is a code, up to the next heading.
    private func rows(below heading: String) throws -> [[String]] {
        let start = try #require(text.firstRange(of: "\n### \(heading)\n")).upperBound
        let end = text[start...].firstRange(of: "\n## ")?.lowerBound ?? text.endIndex
        return text[start..<end].prefix(upTo: text[start..<end].firstRange(of: "\n### ")?.lowerBound ?? end)
            .split(separator: "\n")
            .filter { $0.hasPrefix("| `") }
            .map { row in
                row.dropFirst(2).dropLast(2).split(separator: " | ").map { $0.filter { $0 != "`" } }
            }
    }

    @Test func everyRelayErrorCodeIsInTheTable() throws {
        let expected = RelayError.Code.all.map { code in
            [code.rawValue, "\(code.status.code)", code.isRetryable ? "yes" : "no"]
        }
        #expect(try rows(below: "Of the relay and of model servers").map { Array($0.prefix(3)) } == expected)
    }

    @Test func everyRefusalOfTheHTTPLayerIsInTheTable() throws {
        // Faults of responses and of event streams, which a request cannot have.
        let foreign: [HTTPError.Code] = [.malformedStatusLine, .lineTooLong, .eventTooLarge]
        let faults = HTTPError.Code.allCases.filter { !foreign.contains($0) }
            .map { [snakeCase($0.rawValue), "\(HTTPError($0).status.code)"] }
        let source = try ConfigurationFile.read(root + "/Sources/Kit/HTTPServer/Responses/Refusal.swift").get()
        let own = source.matches(of: /code: "([a-z_]+)"/).map { String($0.1) }
        #expect(own.count > 3)

        let rows = try rows(below: "Of the HTTP layer").map { Array($0.prefix(2)) }
        #expect(rows.dropFirst(own.count) == faults[...])
        #expect(rows.prefix(own.count).map { $0[0] } == own)
    }

    @Test(arguments: Route.allCases.filter { $0 != .none })
    func everyRouteHasASection(_ route: Route) {
        #expect(["GET", "POST", "DELETE"].contains { text.contains("\n## `\($0) \(route.rawValue)`\n") })
    }

    private func snakeCase(_ camelCase: String) -> String {
        camelCase.reduce(into: "") { text, character in
            if character.isUppercase { text += "_" }
            text += character.lowercased()
        }
    }
}
