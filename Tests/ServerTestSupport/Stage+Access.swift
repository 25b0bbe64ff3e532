import ChatterdConfiguration
import ChatterdTestSupport
import Testing

/// The admin token of the stages with keys.
let testAdminToken = "an-admin-token-of-the-test"

/// The settings of a server that needs keys.
let withKeys: [Setting: String] = [.access: "keys", .adminToken: testAdminToken]

extension Stage {
    /// Sends a request with a credential and reads the response.
    func call(
        _ method: String, _ path: String, _ json: String? = nil, as credential: String?,
        fields: [(String, String)] = []
    ) throws -> HTTPExchange {
        let client = try RawClient(port: port)
        defer { client.close() }
        let authorization = credential.map { [("Authorization", "Bearer \($0)")] } ?? []
        client.request(method, path, fields: authorization + fields, body: json.map { Array($0.utf8) })
        return try client.readResponse(of: method)
    }

    /// Makes a key of an app; returns its text.
    func makeKey(_ app: String, adding members: String = "") throws -> String {
        let made = try call("POST", "/keys", #"{"app":\#(jsonString(app))\#(members)}"#, as: testAdminToken)
        #expect(made.status == 201, "\(made.text)")
        return try #require(made.json["key"] as? String)
    }

    /// Makes a token of a person with a key.
    func makeToken(_ key: String, person: String, adding members: String = "") throws -> String {
        let made = try call("POST", "/tokens", #"{"person":\#(jsonString(person))\#(members)}"#, as: key)
        #expect(made.status == 201, "\(made.text)")
        return try #require(made.json["access_token"] as? String)
    }

    /// The id of a key.
    static func id(of key: String) -> String { String(key.dropFirst("chatterd_".count).prefix(16)) }

    /// A credential with another last character. It stays base64url whatever the number of its bytes, and no random text equals it.
    static func changed(_ credential: String) -> String {
        String(credential.dropLast()) + (credential.hasSuffix("A") ? "Q" : "A")
    }
}

/// The body of a prompt without an appID.
func prompt(_ text: String, adding members: String = "") -> String {
    #"{"model":"tiny","messages":[{"role":"user","content":\#(jsonString(text))}]\#(members)}"#
}
