import ChatterdBasics
import ChatterdHTTP

/// Answers a request through the responder. It runs on the shard of the connection, also after each `await`. A stream that it opens may
/// outlive it.
public typealias Handler = @Sendable (Request, Responder) async -> Void

/// Checks the head of a request before its body arrives. A request with a refusal never reaches the handler.
public typealias HeadCheck = @Sendable (RequestHead) -> Refusal?

/// Finds the handler of a method and a path. A pattern has at most two `:name` segments, which match any segment that is not empty. A
/// `:name*` at its end matches one segment or more. A pattern without such a segment precedes the others; those count in the order of
/// their registration.
///
/// A slash at the end of a path has no effect on safe methods, and on POST where no `:name` can follow it. Other requests with one are
/// refused: the empty segment stands for a name that is missing, and without it DELETE would remove everything above. The handler of GET
/// serves HEAD, without its body. The router itself answers OPTIONS, unless a handler does.
public struct Router: Sendable {
    enum Match {
        case handler(Handler, check: HeadCheck?, pattern: String, parameters: [String])
        /// OPTIONS without a handler, with the methods for the Allow field.
        case options(allow: String, pattern: String?)
        case wrongMethod(allow: String, pattern: String)
        /// A path with a slash at its end that counts.
        case emptySegment
        /// A path without a route that has two slashes in a row.
        case doubledSlash
        /// A path without a route that begins twice with the first segment of a pattern.
        case repeatedSegment(String)
        case notFound

        var isHandler: Bool {
            if case .handler = self {
                return true
            }
            return false
        }

        /// The decoded texts of the `:name` segments.
        var parameters: [String] {
            guard case .handler(_, _, _, let parameters) = self else { return [] }
            return parameters
        }

        /// The pattern of the route; `nil` without a route.
        var pattern: String? {
            switch self {
            case .handler(_, _, let pattern, _), .wrongMethod(_, let pattern): pattern
            case .options(_, let pattern): pattern
            case .emptySegment, .doubledSlash, .repeatedSegment, .notFound: nil
            }
        }
    }

    private struct Resource {
        let pattern: String
        /// The segments of the pattern.
        private let segments: [Substring]
        /// The numbers of the `:name` segments; the first segment has number 1.
        let parameters: [Int]
        /// Whether the last parameter is the rest of the path.
        private let takesRest: Bool
        var handlers: [(method: Method, handler: Handler, check: HeadCheck?)] = []

        init(_ pattern: String) {
            self.pattern = pattern
            let segments = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            self.segments = segments
            parameters = segments.indices.filter { segments[$0].hasPrefix(":") }.map { $0 + 1 }
            takesRest = parameters.last == segments.count && pattern.hasSuffix("*")
            precondition(parameters.count <= 2, "a pattern has two parameters at most")
        }

        /// Whether a path has the segments of the pattern. It compares bytes, because different bytes may be equal characters.
        func matches(_ path: Substring) -> Bool {
            var rest = path.utf8
            for segment in segments {
                guard rest.first == UInt8(ascii: "/") else { return false }
                let found = rest.dropFirst().prefix { $0 != UInt8(ascii: "/") }
                guard segment.hasPrefix(":") ? !found.isEmpty : found.elementsEqual(segment.utf8) else { return false }
                rest = rest[found.endIndex...]
            }
            return rest.isEmpty || takesRest && rest.last != UInt8(ascii: "/") && !path.hasDoubledSlash
        }

        /// The decoded texts of the parameters of a path that matches.
        func texts(in target: Target) -> [String] {
            parameters.compactMap { number in
                takesRest && number == segments.count ? target.segments(from: number) : target.segment(number)
            }
        }

        /// Whether the last segment of the pattern is a `:name`.
        var endsInParameter: Bool { parameters.last == segments.count }

        func match(_ method: Method, parameters: [String]) -> Match? {
            guard let found = handlers.first(where: { $0.method == method }) else { return nil }
            return .handler(found.handler, check: found.check, pattern: pattern, parameters: parameters)
        }

        /// RFC 9110 10.2.1.
        var allow: String { Router.allow(handlers.map(\.method)) }
    }

    /// The first segments of paths below the base URLs of clients.
    private var bases: [String] = []
    private var exact: [ExactText: Resource] = [:]
    private var parameterized: [Resource] = []

    /// Creates a router without routes.
    public init() {}

    /// Routes a method of a path, or of a pattern such as `/replies/:id/choose`. A second handler for the same route stops the program.
    ///
    /// - Parameter check: a check of the request's head, before its body arrives.
    public mutating func on(
        _ method: Method, _ pattern: String, check: HeadCheck? = nil, _ handler: @escaping Handler
    ) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with a slash")
        let index = parameterized.firstIndex { $0.pattern == pattern }
        var resource = index.map { parameterized[$0] } ?? exact[pattern] ?? Resource(pattern)
        precondition(!resource.handlers.contains { $0.method == method }, "\(method) \(pattern) is routed twice")
        resource.handlers.append((method, handler, check))
        if let index {
            parameterized[index] = resource
        } else if !resource.parameters.isEmpty {
            parameterized.append(resource)
        } else {
            exact[pattern] = resource
        }
    }

    /// Has further slashes before and behind a first segment mean one: clients with a slash at the end of their base URL send them, `//v1/models`
    /// or `/v1//models`. Elsewhere an empty segment stands for a name that is missing.
    public mutating func addBase(_ segment: String) {
        if !bases.contains(segment) { bases.append(segment) }
    }

    func match(_ method: Method, _ target: Target) -> Match {
        guard target.form != .asterisk else {
            let methods = (exact.values.map(\.handlers) + parameterized.map(\.handlers)).joined().map(\.method)
            return .options(allow: Router.allow(methods), pattern: nil)
        }
        let path = target.path
        if let resource = exact[path] {
            return match(method, resource, parameters: [])
        }
        var trimmed = path[...]
        if trimmed.hasSuffix("/") {
            trimmed = Substring(trimmed.utf8.dropLast())
            guard method.isSafe || method == .post && !hasParameter(below: trimmed) else { return .emptySegment }
            if let resource = exact[String(trimmed)] {
                return match(method, resource, parameters: [])
            }
        }
        for resource in parameterized {
            if resource.matches(trimmed) {
                return match(method, resource, parameters: resource.texts(in: target))
            }
        }
        if path.hasDoubledSlash {
            return withoutFurtherSlashes(target, for: method).map { match(method, $0) } ?? .doubledSlash
        }
        return repeatedSegment(of: path).map { Match.repeatedSegment($0) } ?? .notFound
    }

    /// The target without further slashes around the first segment; `nil` if there are none, or the segment is not below a base URL.
    private func withoutFurtherSlashes(_ target: Target, for method: Method) -> Target? {
        let slash = UInt8(ascii: "/")
        let path = target.rawPath.utf8.drop { $0 == slash }
        let first = path.prefix { $0 != slash }
        guard bases.contains(where: { $0.utf8.elementsEqual(first) }) else { return nil }
        let rest = path[first.endIndex...]
        let single = "/\(Substring(first))\(rest.isEmpty ? "" : "/")\(Substring(rest.drop { $0 == slash }))"
        guard single.utf8.count < target.rawPath.utf8.count else { return nil }
        return try? Target(single + (target.query.map { "?" + $0 } ?? ""), for: method)
    }

    /// The first segment of a path, if the path goes on with the same one and further ones, and a pattern begins with it.
    private func repeatedSegment(of path: String) -> String? {
        let slash = UInt8(ascii: "/")
        let first = path.utf8.dropFirst().prefix { $0 != slash }
        let rest = path.utf8[first.endIndex...].dropFirst()
        guard !first.isEmpty, rest.starts(with: first), rest.dropFirst(first.count).first == slash else { return nil }
        let known = exact.keys.map(\.text) + parameterized.map(\.pattern)
        let isKnown = known.contains { pattern in
            let segment = pattern.utf8.dropFirst().prefix { $0 != slash }
            return segment.elementsEqual(first)
        }
        return isKnown ? String(decoding: first, as: UTF8.self) : nil
    }

    /// Whether a pattern continues a path with a `:name`, and nothing more.
    private func hasParameter(below path: Substring) -> Bool {
        parameterized.contains { $0.endsInParameter && $0.matches(path + "/-") }
    }

    private func match(_ method: Method, _ resource: Resource, parameters: [String]) -> Match {
        if let match = resource.match(method, parameters: parameters) {
            return match
        }
        if method == .head, let match = resource.match(.get, parameters: parameters) {
            return match
        }
        if method == .options {
            return .options(allow: resource.allow, pattern: resource.pattern)
        }
        return .wrongMethod(allow: resource.allow, pattern: resource.pattern)
    }

    /// The pattern with the most similar spelling to a path without a route; `nil` if no pattern is similar.
    func nearestPattern(to path: String) -> String? {
        let path = String(decoding: path.utf8.prefix(Self.comparedLength), as: UTF8.self).lowercased()
        let known = exact.keys.map(\.text).filter { $0 != "/" }.sorted()
        if let found = NearestNames.similar(to: path, among: known, atMost: 1).first { return found }
        return parameterized.map(\.pattern).first { pattern in
            !NearestNames.similar(to: Self.generalize(path, like: pattern), among: [pattern], atMost: 1).isEmpty
        }
    }

    /// Limit of a path in the search for similar patterns, in bytes.
    private static let comparedLength = 128

    /// The path with its parameter segments replaced by the pattern's.
    private static func generalize(_ path: String, like pattern: String) -> String {
        let segments = path.split(separator: "/")
        let wanted = pattern.split(separator: "/")
        guard segments.count == wanted.count else { return path }
        return zip(segments, wanted).map { "/" + ($1.hasPrefix(":") ? $1 : $0) }.joined()
    }

    private static func allow(_ methods: [Method]) -> String {
        var names = Set(methods.map(\.name))
        if names.contains("GET") {
            names.insert("HEAD")
        }
        names.insert("OPTIONS")
        return names.sorted().joined(separator: ", ")
    }
}

extension StringProtocol {
    /// Whether two slashes follow each other. It compares bytes: comparing characters costs the square of the marks on one of them.
    fileprivate var hasDoubledSlash: Bool {
        let slash = UInt8(ascii: "/")
        return zip(utf8, utf8.dropFirst()).contains { $0 == slash && $1 == slash }
    }
}
