import ChatterdBasics
import ChatterdChat

extension JSONWriter {
    /// Writes a member that is a time (RFC 3339), given in microseconds since 1970; `nil` writes no member.
    mutating func member(_ name: String, time microseconds: Int64?) {
        guard let microseconds else { return }
        self.name(name)
        raw { buffer in
            buffer.append("\"")
            buffer.append(rfc3339: microseconds.multipliedReportingOverflow(by: 1_000).partialValue)
            buffer.append("\"")
        }
    }

    /// Writes a member that is text in UTF-8; an empty text writes no member.
    mutating func member(_ name: String, nonempty text: [UInt8]) {
        guard !text.isEmpty else { return }
        self.name(name)
        string(text.span)
    }

    /// Writes a member that is an object, from its members as JSON text; an empty text writes no member.
    mutating func member(_ name: String, members text: [UInt8]) {
        guard !text.isEmpty else { return }
        self.name(name)
        raw { buffer in
            buffer.append("{")
            // A line must have no line end inside.
            buffer.append(repairingJSON: text.span)
            buffer.append("}")
        }
    }
}
