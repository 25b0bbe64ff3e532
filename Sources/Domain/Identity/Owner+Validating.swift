extension Owner {
    /// Creates an owner from names of a peer.
    ///
    /// - Returns: `nil` unless each name has 1 character to its limit, and no control characters.
    public init?(validating app: String, person: String? = nil) {
        guard Self.isName(app, upTo: Self.maximumAppLength),
            person.map({ Self.isName($0, upTo: Self.maximumPersonLength) }) != false
        else { return nil }
        self.init(app: app, person: person)
    }

    /// Whether a text can be a part of a key, and has 1 to `limit` Unicode scalars.
    static func isName(_ text: String, upTo limit: Int) -> Bool {
        !text.isEmpty && text.unicodeScalars.count <= limit && isName(text)
    }
}
