import ChatterdBasics

extension JSONReader {
    /// Enters the object that is the body of a request.
    ///
    /// - Throws: `wrongType` for another value. An error of its JSON is reported before the wrong type.
    mutating func beginBody() throws(JSONError) {
        guard try kind() == .object else {
            try skipValue()
            try finish()
            throw JSONError(.wrongType, at: 0)
        }
        try beginObject()
    }
}
