import ChatterdBasics
import ChatterdChat

extension JSONWriter {
    /// Writes the members of the last event of a reply that have one of the names, as they are in the event.
    ///
    /// - Parameter counts: the names of counts. A member that is no count is left out.
    mutating func members(_ names: [StaticString], counts: [StaticString] = [], of lastEvent: Span<UInt8>) {
        JSONMembers.forEach(of: lastEvent) { reader, key, value in
            if counts.contains(where: { reader.matches(key, $0) }) {
                var number = JSONReader(lastEvent.extracting(value))
                let count: Int? = try? number.countOrSkip()
                guard count != nil else { return }
            } else {
                guard names.contains(where: { reader.matches(key, $0) }) else { return }
            }
            raw { buffer in
                buffer.append("\"")
                buffer.append(lastEvent.extracting(key.range))
                buffer.append("\":")
                buffer.append(lastEvent.extracting(value))
            }
        }
    }
}
