import ChatterdBasics

/// A tool as its server knows it.
public struct ToolOrigin: Sendable, Equatable {
    /// The name of the server.
    public let label: String
    /// The name that the server has for the tool.
    public let name: String

    public init(label: String, name: String) {
        self.label = label
        self.name = name
    }

    /// Reads the members of a stored result; `nil` for the result of another tool.
    init?(of result: JSONSlice) {
        guard let label = result.last("server_label", .string)?.string,
            let name = result.last("server_tool", .string)?.string
        else { return nil }
        self.init(label: label, name: name)
    }

    /// The limit of the name that a model has for a tool, in bytes.
    public static let maximumCalledName = 64

    /// The name that a model has for the tool: that of the server and its own, with letters, digits, `_` and `-`. It may be too long.
    public var calledName: String { "\(label)_\(Self.plain(name))" }

    /// The name that a model has for the tool of a server that any client may have named.
    public var possibleName: String {
        String("\(Self.plain(label))_\(Self.plain(name))".prefix(Self.maximumCalledName))
    }

    private static func plain(_ name: String) -> String {
        let plain = name.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}

extension ByteBuffer {
    /// Appends the origin of a tool as members of JSON.
    mutating func append(_ origin: ToolOrigin) {
        append("\"server_label\":")
        append(jsonString: origin.label)
        append(",\"server_tool\":")
        append(jsonString: origin.name)
    }
}
