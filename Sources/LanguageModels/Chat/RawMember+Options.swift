import ChatterdBasics

extension [RawMember] {
    /// A whole number among the members themselves, such as `max_tokens`; nothing if it is not there or no such number.
    public func number(_ name: StaticString) -> Int? {
        last { $0.key == String(describing: name) }.flatMap { Self.integer($0.value.span) }
    }

    /// A whole number that a client has set in `options`, such as `num_ctx`; nothing if it is not there or no such number.
    public func generationOption(_ name: StaticString) -> Int? {
        guard let options = last(where: { $0.key == "options" }) else { return nil }
        let text = options.value.span
        var reader = JSONReader(text)
        var found: Int?
        do throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let value = try reader.skipValue()
                // Of two alike the last counts.
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
