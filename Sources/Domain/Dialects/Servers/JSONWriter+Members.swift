import ChatterdBasics
import ChatterdChat

extension JSONWriter {
    /// Writes a string from its inside, which is JSON-escaped already.
    mutating func string(inside text: Span<UInt8>) {
        raw { buffer in
            buffer.append(UInt8(ascii: "\""))
            buffer.append(text)
            buffer.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is a string, from its inside, which is JSON-escaped already.
    mutating func member(_ name: String, inside text: Span<UInt8>) {
        self.name(name)
        string(inside: text)
    }

    /// Writes members of a request.
    mutating func members(_ members: [RawMember]) {
        for member in members {
            self.member(member.key, raw: member.value.span)
        }
    }
}
