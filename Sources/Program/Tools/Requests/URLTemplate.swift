import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient

/// The URL of a tool, with arguments of the call in braces: `https://api.example/v1/{city}?units={units}`, or `{url}` alone.
///
/// An argument in a URL of the operator is a part of its path or of its query: everything but letters, digits and `-._~` is escaped, so that
/// it changes nothing else (RFC 3986 2.3).
public struct URLTemplate: Sendable {
    private enum Piece: Sendable {
        case text(String)
        case argument(String)
    }

    /// Where the request goes.
    struct Target {
        let origin: Origin
        let path: String
    }

    private let pieces: [Piece]
    /// The server of a URL of the operator; `nil` for a URL of the model.
    public let origin: Origin?

    /// The arguments that the template names.
    public var names: [String] {
        pieces.compactMap { if case .argument(let name) = $0 { name } else { nil } }
    }

    /// Path and query of a template without arguments.
    public var fixedPath: String {
        Self.path(of: pieces.map { if case .text(let text) = $0 { text } else { "" } }.joined())
    }

    /// Reads a template.
    ///
    /// - Throws: what is wrong with it.
    public init(parsing text: String) throws(UsageError) {
        var pieces: [Piece] = []
        var rest = text[...]
        while !rest.isEmpty {
            let fixed = rest.prefix { $0 != "{" && $0 != "}" }
            if !fixed.isEmpty { pieces.append(.text(String(fixed))) }
            rest = rest[fixed.endIndex...]
            guard let brace = rest.popFirst() else { break }
            let name = rest.prefix { $0 != "{" && $0 != "}" }
            rest = rest[name.endIndex...]
            guard brace == "{", rest.popFirst() == "}", !name.isEmpty else {
                throw UsageError("names arguments in braces, as in https://api.example/v1/{city}")
            }
            pieces.append(.argument(String(name)))
        }
        self.pieces = pieces
        if pieces.count == 1, case .argument = pieces[0] {
            origin = nil
            return
        }
        guard case .text(let start)? = pieces.first else {
            throw UsageError("begins with http:// or https:// and a host, or is one argument alone, such as {url}")
        }
        guard let scheme = start.firstRange(of: "://"),
            let slash = start[scheme.upperBound...].firstIndex(of: "/")
        else { throw UsageError("has a path after its host, as in https://api.example/v1/{city}") }
        do throws(HTTPClientError) {
            origin = try Origin(parsing: String(start[..<slash]))
        } catch {
            throw UsageError("is \(error.message)")
        }
    }

    /// The target of a call with arguments.
    ///
    /// - Throws: what is wrong with an argument.
    func target(with arguments: JSONSlice) throws(UsageError) -> Target {
        let members = arguments.members(first: .max) ?? []
        func value(_ name: String) throws(UsageError) -> String {
            guard let value = members.last(where: { $0.name == name })?.value, !value.isNull else { return "" }
            if let text = value.string { return text }
            guard value.kind == .number || value.kind == .boolean else {
                throw UsageError("the argument \(name) must be a text, a number, true or false")
            }
            return String(decoding: value.bytes, as: UTF8.self)
        }
        guard let origin else {
            return try Self.target(of: try value(names[0]))
        }
        var url = ""
        for piece in pieces {
            switch piece {
            case .text(let text): url += text
            case .argument(let name):
                let text = try value(name)
                // As segments of a path these would lead to another place than the operator's.
                guard url.contains("?") || !["", ".", ".."].contains(text) else {
                    throw UsageError("the argument \(name) must not be \(text.isEmpty ? "empty" : text)")
                }
                url += PathEncoding.segment(text)
            }
        }
        return Target(origin: origin, path: Self.path(of: url))
    }

    /// The target of a URL that the model names.
    private static func target(of url: String) throws(UsageError) -> Target {
        guard url.utf8.count <= 8_192, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }) else {
            throw UsageError("the URL must have at most 8192 visible ASCII characters, and no backslash")
        }
        guard let scheme = url.firstRange(of: "://") else {
            throw UsageError("the URL must begin with http:// or https://")
        }
        let end = url[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex
        do throws(HTTPClientError) {
            return Target(origin: try Origin(parsing: String(url[..<end])), path: path(of: url))
        } catch {
            throw UsageError(error.message)
        }
    }

    /// Path and query of a URL, without its fragment.
    private static func path(of url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "/" }
        let rest = url[scheme.upperBound...].prefix { $0 != "#" }
        guard let start = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return rest[start] == "?" ? "/" + rest[start...] : String(rest[start...])
    }
}
