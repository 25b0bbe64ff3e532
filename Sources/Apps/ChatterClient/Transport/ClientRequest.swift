import ChatterdHTTP

/// A request to the server, as a transport sends it.
package struct ClientRequest: Sendable {
    package var method: Method
    /// Path and query below the address of the server.
    package var path: String
    package var fields: Fields = [:]
    package var body: [UInt8] = []

    package init(_ method: Method, _ path: String) {
        self.method = method
        self.path = path
    }

    /// A request with a body of JSON.
    package init(_ method: Method, _ path: String, json: [UInt8]) {
        self.init(method, path)
        fields.add(.contentType, "application/json")
        body = json
    }

    /// Adds items to the query; those without a value are left out.
    mutating func addQuery(_ items: [(name: String, value: String?)]) {
        for case (let name, let value?) in items {
            path += path.contains("?") ? "&" : "?"
            path += "\(name)=\(PathEncoding.segment(value))"
        }
    }
}
