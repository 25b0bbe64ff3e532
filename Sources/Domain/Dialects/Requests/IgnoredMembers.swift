import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// What the doors do with a part of a request that neither chatterd nor a model server can do, and without which the answer is right.
public enum DoorPolicy: String, Sendable, CaseIterable {
    /// chatterd ignores the part, and tells the client.
    case lenient
    /// The request is refused.
    case strict
}

/// The parts of a request that chatterd ignores. `X-Ignored-Members` of the response names them: docs/doors.md, "Ignored members".
public struct IgnoredMembers: Sendable {
    /// The limit of paths that are named.
    static let maximumPaths = 16
    /// The limit of the length of a path, in bytes.
    static let maximumPathLength = 64

    let policy: DoorPolicy
    /// The paths of the parts, each once. Elements of an array have the same path, such as `messages[].annotations`.
    public private(set) var paths: [String] = []
    /// Whether there are more paths than the limit.
    private var hasMore = false

    init(_ policy: DoorPolicy) {
        self.policy = policy
    }

    /// Adds a part of the request.
    ///
    /// - Throws: `invalidRequest` with the reason, for the policy `strict`.
    mutating func add(_ path: String, _ reason: String) throws(RelayError) {
        guard policy == .lenient else { throw .unsupported(path, reason) }
        let path = Self.named(path)
        guard !hasMore, !paths.contains(where: { $0.utf8.elementsEqual(path.utf8) }) else { return }
        guard paths.count < Self.maximumPaths else {
            hasMore = true
            return
        }
        paths.append(path)
    }

    /// The text in the place of a file that no model reads here, such as a PDF, in a message before the newest one of the user: otherwise each
    /// later request of the chat would be refused, too. The newest message asks about the file, so it is refused.
    ///
    /// - Parameters:
    ///   - name: the name of the file; `nil` if it has none.
    ///   - path: the path of the part.
    ///   - place: the path that the error names.
    /// - Throws: `invalidRequest` with the reason for a part that is not past, and for the policy `strict`.
    mutating func note(
        ofFile name: String?, isPast: Bool, at path: String, refusing place: String, _ reason: String
    ) throws(RelayError) -> String {
        guard isPast, policy == .lenient else { throw .unsupported(place, reason) }
        try add(path, reason)
        return "[A file that the model cannot read\(name.map { ": \($0)" } ?? "")]"
    }

    /// The paths with commas between them, as a field of the response; `nil` for none.
    public var text: String? {
        paths.isEmpty ? nil : (paths + (hasMore ? ["..."] : [])).joined(separator: ", ")
    }

    /// A path without indexes, in the characters that a field of HTTP may have.
    private static func named(_ path: String) -> String {
        var bytes: [UInt8] = []
        var isIndex = false
        for byte in path.utf8 {
            guard bytes.count < maximumPathLength else { break }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9") where isIndex: continue
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "["), UInt8(ascii: "]"):
                bytes.append(byte)
            default: bytes.append(UInt8(ascii: "?"))
            }
            isIndex = byte == UInt8(ascii: "[")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension DoorMembers {
    /// Adds all members but the known ones, and those that are harmless, to those that are ignored.
    func ignore(
        allBut known: Set<String>, in path: String = "", as ignored: inout IgnoredMembers,
        unless isHarmless: (String) -> Bool = { _ in false }
    ) throws(RelayError) {
        // A set would hash a text of the client by its characters.
        for name in names where !known.contains(where: { $0 == name }) && !isHarmless(name) {
            try ignored.add(path + name, "chatterd does not know it.")
        }
    }
}
