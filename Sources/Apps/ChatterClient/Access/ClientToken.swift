/// A token of a person, valid for a limited time. The server of an app gets it with `POST /tokens`, and passes it on to a device.
public struct ClientToken: Sendable, Hashable, Codable {
    /// The token itself.
    public let text: String
    /// The lifetime in seconds, from the moment when it was made.
    public let expiresIn: Int

    enum CodingKeys: String, CodingKey {
        case text = "accessToken"
        case expiresIn
    }

    public init(text: String, expiresIn: Int) {
        self.text = text
        self.expiresIn = expiresIn
    }
}
