import ChatterdBasics

extension [RawMember] {
    /// A whole number among the members, such as `max_tokens`; `nil` if it is missing or no whole number.
    public func number(_ name: StaticString) -> Int? {
        last { $0.key == String(describing: name) }.flatMap { Self.integer($0.value.span) }
    }

    /// A whole number among the `options` of a client, such as `num_ctx`; `nil` if it is missing or no whole number.
    public func generationOption(_ name: StaticString) -> Int? {
        guard let options = last(where: { $0.key == "options" }) else { return nil }
        let text = options.value.span
        var reader = JSONReader(text)
        var found: Int?
        do throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let value = try reader.skipValue()
                // Of two equal names the last one counts.
                if reader.matches(key, name) {
                    found = Self.integer(text.extracting(value))
                }
            }
        } catch {
            return nil
        }
        return found
    }

    private static func integer(_ text: Span<UInt8>) -> Int? {
        var reader = JSONReader(text)
        return (try? reader.integer()) ?? nil
    }
}
