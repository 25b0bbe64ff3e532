/// A walk over the members of a JSON object.
public enum JSONMembers {
    /// Calls `body` with each member, up to where the text is no JSON object.
    public static func forEach(
        of object: Span<UInt8>, _ body: (borrowing JSONReader, JSONString, Range<Int>) -> Void
    ) {
        var reader = JSONReader(object)
        // Written by ourselves: what does not read has no members.
        guard (try? reader.beginObject()) != nil else { return }
        while let key = try? reader.nextKey(), let value = try? reader.skipValue() {
            body(reader, key, value)
        }
    }
}
