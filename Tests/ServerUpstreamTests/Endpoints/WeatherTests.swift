import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `GET /weather`.
@Suite(.timeLimit(.minutes(30))) struct WeatherTests {
    private static let body = #"{"lat":"42.29","lon":"-83.71"}"#

    private func get(_ stage: Stage, _ query: String = "", body: String = "") throws -> HTTPExchange {
        let client = try RawClient(port: stage.port)
        client.request("GET", "/weather\(query)", body: body.isEmpty ? nil : Array(body.utf8))
        return try client.readResponse(of: "GET")
    }

    private func service(_ steps: [UpstreamStep]) throws -> ScriptedUpstream {
        try ScriptedUpstream(probing: { _ in steps }) { _ in [] }
    }

    private func service(answering temperature: String) throws -> ScriptedUpstream {
        try service(
            .plain(
                200,
                #"{"latitude":42.3,"current_units":{"temperature_2m":"°F"},"current":{"time":"t","temperature_2m":\#(temperature)}}"#
            ))
    }

    @Test func sentenceHasThePlaceAndTheTemperature() async throws {
        let service = try service(answering: "53.4")
        try await onStage(environment: [.weather: service.url]) { stage in
            let sentence = #""Weather at lat: 42.29, lon: -83.71 is 53.4F""#
            for answer in [
                try get(stage, body: Self.body), try get(stage, "?lat=42.29&lon=-83.71"),
                try get(stage, "?lat=1&lon=2", body: Self.body), try get(stage, "/?lat=42.29&lon=-83.71"),
            ] {
                #expect(answer.status == 200 && answer.text == sentence + "\n", "\(answer.text)")
                #expect(answer["Content-Type"] == "application/json")
            }
            #expect(
                service.probes.first?.path
                    == "/v1/forecast?latitude=42.29&longitude=-83.71&current=temperature_2m&temperature_unit=fahrenheit"
            )
        }
    }

    @Test func wrongPlaceIsRefusedAndTheServiceIsNotAsked() async throws {
        let service = try service(answering: "53.4")
        try await onStage(environment: [.weather: service.url]) { stage in
            for (query, body) in [
                ("", ""), ("?lat=1", ""), ("?lat=91&lon=1", ""), ("?lat=1&lon=-180.1", ""),
                ("?lat=1%26a%3Db&lon=1", ""),
                ("?lat=1e1&lon=1", ""), ("", "{"), ("", "[]"), ("", "lat=1&lon=2"), ("", #"{"lat":"1"}"#),
                ("", #"{"lat":1,"lon":2}"#), ("", #"{"lat":"a","lon":"2"}"#), ("", #"{"lat":null,"lon":"2"}"#),
                ("?lat=1&lon=2", "{}"), ("", #"{"lat":"\#(String(repeating: "0", count: 99))","lon":"2"}"#),
            ] {
                let answer = try get(stage, query, body: body)
                #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request", "\(query) \(body)")
                #expect(answer.json["error"] is String)
            }
            #expect(service.probes.isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"current":{}}"#, 200), (#"{"current":{"temperature_2m":"53"}}"#, 200), ("<html>", 200), ("", 200),
        (#"{"current":{"temperature_2m":\#(String(repeating: "1", count: 99))}}"#, 200),
        (String(repeating: " ", count: 70_000), 200), (#"{"error":true,"reason":"r"}"#, 400), ("{}", 302), ("{}", 500),
    ])
    func wrongAnswerOfTheServiceIsAnError(_ text: String, _ status: Int) async throws {
        let service = try service(.plain(status, text))
        try await onStage(environment: [.weather: service.url]) { stage in
            let answer = try get(stage, body: Self.body)
            #expect(answer.status == 502 && answer.json["code"] as? String == "upstream_malformed", "\(answer.text)")
        }
    }

    @Test func serviceThatDoesNotListenIsAnError() async throws {
        try await onStage(environment: [.weather: "http://127.0.0.1:9"]) { stage in
            let answer = try get(stage, body: Self.body)
            #expect(answer.status == 502 && answer.json["code"] as? String == "upstream_unavailable")
            #expect(answer.json["error"] as? String == "The weather service cannot be reached.")
        }
    }

    @Test func linkLocalAddressIsNotAsked() async throws {
        try await onStage(environment: [.weather: "http://169.254.169.254"]) { stage in
            let answer = try get(stage, body: Self.body)
            #expect(answer.status == 502)
        }
    }
}
