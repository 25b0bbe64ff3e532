import ChatterdBasics
import ChatterdHTTP

/// Answers a request through the responder. It runs on the shard of the connection, also after each `await`. A stream that it opens may
/// outlive it.
public typealias Handler = @Sendable (Request, Responder) async -> Void

/// Checks the head of a request before its body arrives. A request with a refusal never reaches the handler.
public typealias HeadCheck = @Sendable (RequestHead) -> Refusal?

/// Finds the handler of a method and a path. A pattern has at most one `:name` segment, which matches any segment that is not empty. A
/// pattern without such a segment precedes the others; those count in the order of their registration.
///
/// A slash at the end of a path has no effect. The handler of GET serves HEAD, without its body. The router itself answers OPTIONS,
/// unless a handler does.
public struct Router: Sendable {
    enum Match {
        case handler(Handler, check: HeadCheck?, pattern: String, parameter: String?)
        /// OPTIONS without a handler, with the methods for the Allow field.
        case options(allow: String, pattern: String?)
        case wrongMethod(allow: String, pattern: String)
        case notFound

        var isHandler: Bool {
            if case .handler = self {
                return true
            }
            return false
        }

        /// The decoded text of the `:name` segment; `nil` without such a segment.
        var parameter: String? {
            guard case .handler(_, _, _, let parameter) = self else { return nil }
            return parameter
        }

        /// The pattern of the route; `nil` without a route.
        var pattern: String? {
            switch self {
            case .handler(_, _, let pattern, _), .wrongMethod(_, let pattern): pattern
            case .options(_, let pattern): pattern
            case .notFound: nil
            }
        }
    }

    private struct Resource {
        let pattern: String
        /// The parts before and after the `:name` segment, slashes included; `nil` without such a segment.
        let ends: (prefix: Substring, suffix: Substring)?
        var handlers: [(method: Method, handler: Handler, check: HeadCheck?)] = []

        init(_ pattern: String) {
            self.pattern = pattern
            guard let colon = pattern.firstRange(of: "/:")?.upperBound else {
                ends = nil
                return
            }
            let rest = pattern[colon...]
            let suffix = rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...]
            precondition(!suffix.contains(":"), "a pattern has one parameter at most")
            ends = (pattern[..<pattern.index(before: colon)], suffix)
        }

        /// The range of the segment in a path that matches; `nil` for any other path. It compares bytes, because different bytes may be equal
        /// characters.
        func parameter(in path: Substring) -> Range<String.Index>? {
            guard let ends, path.utf8.count > ends.prefix.utf8.count + ends.suffix.utf8.count,
                path.utf8.starts(with: ends.prefix.utf8), path.utf8.reversed().starts(with: ends.suffix.utf8.reversed())
            else { return nil }
            let start = path.utf8.index(path.startIndex, offsetBy: ends.prefix.utf8.count)
            let end = path.utf8.index(path.endIndex, offsetBy: -ends.suffix.utf8.count)
            return path.utf8[start..<end].contains(UInt8(ascii: "/")) ? nil : start..<end
        }

        func match(_ method: Method, parameter: String?) -> Match? {
            guard let found = handlers.first(where: { $0.method == method }) else { return nil }
            return .handler(found.handler, check: found.check, pattern: pattern, parameter: parameter)
        }

        /// RFC 9110 10.2.1.
        var allow: String { Router.allow(handlers.map(\.method)) }
    }

    private var exact: [String: Resource] = [:]
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
        } else if resource.ends != nil {
            parameterized.append(resource)
        } else {
            exact[pattern] = resource
        }
    }

    func match(_ method: Method, _ target: Target) -> Match {
        guard target.form != .asterisk else {
            let methods = (exact.values.map(\.handlers) + parameterized.map(\.handlers)).joined().map(\.method)
            return .options(allow: Router.allow(methods), pattern: nil)
        }
        let path = target.path
        if let resource = exact[path] {
            return match(method, resource, parameter: nil)
        }
        var trimmed = path[...]
        if trimmed.hasSuffix("/") {
            trimmed.removeLast()
            if let resource = exact[String(trimmed)] {
                return match(method, resource, parameter: nil)
            }
        }
        for resource in parameterized {
            if let range = resource.parameter(in: trimmed) {
                let segment = path.utf8[..<range.lowerBound].count { $0 == UInt8(ascii: "/") }
                return match(method, resource, parameter: target.segment(segment))
            }
        }
        return .notFound
    }

    private func match(_ method: Method, _ resource: Resource, parameter: String?) -> Match {
        if let match = resource.match(method, parameter: parameter) {
            return match
        }
        if method == .head, let match = resource.match(.get, parameter: parameter) {
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
        let known = exact.keys.filter { $0 != "/" }.sorted()
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
