import ChatterdBasics
import ChatterdDialects

/// The form of an answer that is translated while it is passed on.
struct PassedAnswerForm {
    var encoder: any PassedAnswerEncoder
    /// Whether the lines of the model server's answer count as tokens.
    let countsLines: Bool
    /// The reservation for what the encoder holds.
    let held: MemoryReservation
    /// The output that is not sent yet.
    var output = ByteBuffer()

    mutating func append(_ bytes: Span<UInt8>) throws(PassedAnswerProblem) {
        try encoder.append(bytes, to: &output)
    }

    mutating func end() throws(PassedAnswerProblem) {
        try encoder.end(to: &output)
    }

    /// Reserves memory for what the encoder holds. Returns whether there was enough.
    func reserve() -> Bool { held.grow(to: encoder.heldSize + output.count, for: .output) }
}
