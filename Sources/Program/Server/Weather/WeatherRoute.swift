import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// `GET /weather`: docs/api.md.
struct WeatherRoute: Sendable {
    let services: ShardedServices

    /// Answers with a sentence about the place in the body, or in the query if there is no body.
    @Sendable func tell(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let (latitude, longitude) = try Self.place(in: request)
        let temperature = try await services[request].weather.temperature(latitude: latitude, longitude: longitude)
        var body = ByteBuffer()
        body.append(
            jsonString: "Weather at lat: \(latitude.text), lon: \(longitude.text) is \(temperature)F")
        responder.respond(json: body)
    }

    private static func place(in request: Request) throws(RelayError) -> (Degrees, Degrees) {
        let body = try RequestObject(try request.smallBody, members: ["lat", "lon"])
        let target = request.body.count > 0 ? nil : request.head.target
        let texts = (
            try body.name("lat", upTo: Degrees.maximumLength) ?? target?.queryItem("lat"),
            try body.name("lon", upTo: Degrees.maximumLength) ?? target?.queryItem("lon")
        )
        guard let latitude = texts.0.flatMap(Degrees.init(latitude:)) else {
            throw RelayError(.invalidRequest, "lat must be a text with a number from -90 to 90.")
        }
        guard let longitude = texts.1.flatMap(Degrees.init(longitude:)) else {
            throw RelayError(.invalidRequest, "lon must be a text with a number from -180 to 180.")
        }
        return (latitude, longitude)
    }
}
