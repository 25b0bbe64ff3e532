import ChatterdBasics
import ChatterdLanguageModels

extension JSONWriter {
    /// Writes the members of the last event of a reply that have one of the names, as they are in the event.
    mutating func members(_ names: [StaticString], of lastEvent: Span<UInt8>) {
        JSONMembers.forEach(of: lastEvent) { reader, key, value in
            guard names.contains(where: { reader.matches(key, $0) }) else { return }
            raw { buffer in
                buffer.append("\"")
                buffer.append(lastEvent.extracting(key.range))
                buffer.append("\":")
                buffer.append(lastEvent.extracting(value))
            }
        }
    }
}
