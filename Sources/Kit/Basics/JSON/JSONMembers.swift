/// Iterates over the members of a JSON object.
public enum JSONMembers {
    /// Calls `body` with each member; stops at the first byte that is not part of a JSON object.
    public static func forEach(
        of object: Span<UInt8>, _ body: (borrowing JSONReader, JSONString, Range<Int>) -> Void
    ) {
        var reader = JSONReader(object)
        // The program wrote the text itself, so a malformed one has no members.
        guard (try? reader.beginObject()) != nil else { return }
        while let key = try? reader.nextKey(), let value = try? reader.skipValue() {
            body(reader, key, value)
        }
    }
}
