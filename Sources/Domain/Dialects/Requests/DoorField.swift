import ChatterdBasics
import ChatterdChat

/// What a door does with a member of a request. docs/doors.md lists all of them.
public struct DoorField: Sendable {
    /// The ways to treat a member. None is dropped silently.
    public enum Treatment: Sendable, Equatable {
        /// It goes to the model server under its own name.
        case passed
        /// It goes to the model server as a member of `options`, under this name.
        case option(String)
        /// Code of the dialect translates it; the words say into what.
        case translated(String)
        /// chatterd ignores it for this reason, and tells the client.
        case ignored(String)
        /// It is refused, for this reason: the answer would be wrong without it.
        case refused(String)
    }

    public let name: String
    public let treatment: Treatment
    /// The values of an ignored or refused member that mean the same as its absence, as JSON.
    public let harmless: [String]
    /// A restriction of a passed member; empty for none.
    private let note: String

    init(_ name: String, _ treatment: Treatment, harmless: [String] = [], note: String = "") {
        self.name = name
        self.treatment = treatment
        self.harmless = harmless
        self.note = note
    }

    /// Whether a value of an ignored or refused member means the same as its absence, however it is spelt.
    func isHarmless(_ value: JSONSlice) -> Bool {
        let bytes = value.comparableBytes
        return harmless.contains { text in (try? JSONSlice(Array(text.utf8)))?.comparableBytes == bytes }
    }

    /// The treatment in words, as in docs/doors.md.
    public var summary: String {
        let exception = harmless.isEmpty ? "" : " (but \(harmless.map { "`\($0)`" }.joined(separator: ", ")))"
        return switch treatment {
        case .passed: note.isEmpty ? "passed" : "passed; \(note)"
        case .option(let name): "`options.\(name)`"
        case .translated(let words): words
        case .ignored(let reason): "ignored\(exception): \(reason)"
        case .refused(let reason): "refused\(exception): \(reason)"
        }
    }
}
