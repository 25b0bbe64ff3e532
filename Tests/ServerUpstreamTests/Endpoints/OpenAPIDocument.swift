import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The description of the endpoints, for tests that compare it with the code.
struct OpenAPIDocument {
    typealias Object = [String: Any]

    /// An operation: a method of a path.
    struct Operation {
        let path: String
        /// In lower case.
        let method: String
        let object: Object
    }

    private let root: Object

    init() throws {
        let json = try JSONSerialization.jsonObject(with: Data(OpenAPIRoute.document))
        root = try #require(json as? Object)
    }

    /// The value at a path of members, such as `components/schemas/Title/maxLength`. A `~1` in a name stands for a slash (RFC 6901).
    subscript(_ path: String) -> Any? {
        var value: Any = root
        for part in path.split(separator: "/") {
            let name = String(part.replacing("~1", with: "/"))
            if let object = value as? Object, let member = object[name] {
                value = member
            } else if let list = value as? [Any], let index = Int(name), list.indices.contains(index) {
                value = list[index]
            } else {
                return nil
            }
        }
        return value
    }

    /// The members of a component, such as `schemas/Title`.
    func component(_ name: String) throws -> Object {
        try #require(self["components/\(name)"] as? Object, "there is no component \(name)")
    }

    /// The object, or the component to which it refers.
    func resolved(_ object: Object) throws -> Object {
        guard let reference = object["$ref"] as? String else { return object }
        return try #require(self[String(reference.dropFirst(2))] as? Object, "\(reference) leads nowhere")
    }

    /// All operations.
    var operations: [Operation] {
        (root["paths"] as? [String: Object] ?? [:]).flatMap { path, item in
            item.filter { $0.key != "parameters" }.map { method, object in
                Operation(path: path, method: method, object: object as? Object ?? [:])
            }
        }
    }

    /// The responses of all operations, by status, and those to requests that no operation describes.
    func responses() throws -> [(status: String, response: Object)] {
        let described = operations.flatMap { $0.object["responses"] as? [String: Object] ?? [:] }
            .map { (status: $0.key, response: $0.value) }
        let others = [
            ("404", try component("responses/NotFound")), ("405", try component("responses/MethodNotAllowed")),
            ("204", try component("responses/Options")),
        ]
        return try described.map { ($0.status, try resolved($0.response)) } + others
    }

    /// The members of the schema of a request.
    func members(_ schema: String) throws -> [String] {
        try #require(try component("schemas/\(schema)")["properties"] as? Object).keys.sorted()
    }

    /// All numbers with a keyword, by their paths.
    func numbers(_ keywords: Set<String>) -> [String: Int] {
        var found: [String: Int] = [:]
        walk { path, object, name, value in
            // JSONSerialization has the same type for numbers and flags.
            let isFlag = (object["type"] as? String) == "boolean"
            guard keywords.contains(name), !isFlag, let number = value as? Int else { return }
            found["\(path)/\(name)"] = number
        }
        return found
    }

    /// All strings with a keyword.
    func strings(_ keyword: String) -> Set<String> {
        var found: Set<String> = []
        walk { _, _, name, value in
            if name == keyword, let text = value as? String { found.insert(text) }
        }
        return found
    }

    /// Visits each member of the document with the path of its object.
    private func walk(_ visit: (_ path: String, _ object: Object, _ name: String, _ value: Any) -> Void) {
        func walk(_ value: Any, _ path: String) {
            if let object = value as? Object {
                for (name, value) in object {
                    visit(path, object, name, value)
                    let part = name.replacing("/", with: "~1")
                    walk(value, path.isEmpty ? part : "\(path)/\(part)")
                }
            } else if let list = value as? [Any] {
                for (index, value) in list.enumerated() {
                    walk(value, "\(path)/\(index)")
                }
            }
        }
        walk(root, "")
    }
}
