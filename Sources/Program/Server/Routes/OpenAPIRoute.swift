import ChatterdHTTP
import ChatterdHTTPServer

/// `GET /openapi.json`: docs/api.md.
struct OpenAPIRoute: Sendable {
    /// The description of all endpoints, OpenAPI 3.1: the file `openapi.json` beside this one.
    static let document = PackageResources.openapi_json

    /// Sends the description. It has no secrets, and changes with the version of the program only.
    @Sendable func read(_ request: Request, _ responder: Responder) async {
        responder.respond(
            .ok, fields: [.contentType: "application/json", .cacheControl: "public, max-age=3600"], body: Self.document)
    }
}
