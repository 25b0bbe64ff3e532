import HTTP

/// Answers a request; runs on the shard of its connection, and stays there over every `await`.
///
/// It makes one response through the responder. A stream that it opened may go on after it has returned.
public typealias Handler = @Sendable (Request, Responder) async -> Void

/// Finds the handler of a method and a path, exactly: no wildcards but one trailing `:name` segment.
///
/// A slash at the end of a path makes no difference. HEAD is served by the handler of GET, its body left out; OPTIONS by the
/// router itself unless there is a handler.
public struct Router: Sendable {
    enum Match {
        case handler(Handler, pattern: String, parameter: String?)
        /// OPTIONS, with the methods for the Allow field.
        case options(allow: String, pattern: String?)
        case wrongMethod(allow: String, pattern: String)
        case nothing

        var isHandler: Bool {
            if case .handler = self {
                return true
            }
            return false
        }
    }

    private struct Resource {
        let pattern: String
        var handlers: [(method: Method, handler: Handler)] = []

        func handler(for method: Method) -> Handler? {
            handlers.first { $0.method == method }?.handler
        }

        /// RFC 9110 10.2.1.
        var allow: String { Router.allow(handlers.map(\.method)) }
    }

    private var exact: [String: Resource] = [:]
    /// By what stands before the parameter, its slash included.
    private var prefixes: [String: Resource] = [:]

    /// Makes a router without routes.
    public init() {}

    /// Routes a method of a path, or of a pattern such as `/replies/:id`; a second handler for the same is a mistake that stops
    /// the program.
    public mutating func on(_ method: Method, _ pattern: String, _ handler: @escaping Handler) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with a slash")
        let slash = pattern.lastIndex(of: "/") ?? pattern.startIndex
        let last = pattern[pattern.index(after: slash)...]
        if last.hasPrefix(":") {
            Router.add(method, pattern, handler, at: String(pattern[...slash]), in: &prefixes)
        } else {
            Router.add(method, pattern, handler, at: pattern, in: &exact)
        }
    }

    private static func add(
        _ method: Method, _ pattern: String, _ handler: @escaping Handler, at key: String,
        in resources: inout [String: Resource]
    ) {
        var resource = resources[key] ?? Resource(pattern: pattern)
        precondition(resource.handler(for: method) == nil, "\(method) \(pattern) is routed twice")
        precondition(resource.pattern == pattern, "\(pattern) and \(resource.pattern) are the same")
        resource.handlers.append((method, handler))
        resources[key] = resource
    }

    func match(_ method: Method, _ target: Target) -> Match {
        guard target.form != .asterisk else {
            let methods = (exact.values.map(\.handlers) + prefixes.values.map(\.handlers)).joined().map(\.method)
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
        if !prefixes.isEmpty, let slash = trimmed.lastIndex(of: "/") {
            let parameter = trimmed[trimmed.index(after: slash)...]
            if !parameter.isEmpty, let resource = prefixes[String(trimmed[...slash])] {
                return match(method, resource, parameter: String(parameter))
            }
        }
        return .nothing
    }

    private func match(_ method: Method, _ resource: Resource, parameter: String?) -> Match {
        if let handler = resource.handler(for: method) {
            return .handler(handler, pattern: resource.pattern, parameter: parameter)
        }
        if method == .head, let handler = resource.handler(for: .get) {
            return .handler(handler, pattern: resource.pattern, parameter: parameter)
        }
        if method == .options {
            return .options(allow: resource.allow, pattern: resource.pattern)
        }
        return .wrongMethod(allow: resource.allow, pattern: resource.pattern)
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
