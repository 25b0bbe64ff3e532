// swift-format-ignore-file
import ChatterSwiftAI

/// The structure of block 18 without its macros.
struct User: Codable {
    let name: String
    let age: Int?
    let favoriteColors: [String]
}

// Printed:
extension User: Generable {
  public static var schema: Schema {
    .object(
      name: "User",
      description: nil,
      properties: [
        "name": Schema.Property(
          schema: .string(constraints: [.pattern("^[a-zA-Z][a-zA-Z0-9_]{2,}$")]),
          description: "Username",
          isOptional: false
        ),
        "age": Schema.Property(
          schema: .integer(constraints: [.minimum(18)]),
          description: "User age",
          isOptional: true
        ),
        "favoriteColors": Schema.Property(
          schema: .array(
            items: .string(constraints: [.anyOf("red", "green", "blue")]),
            constraints: [.count(lowerBound: 1, upperBound: 5)]
          ),
          description: "User's favorite colors",
          isOptional: false
        )
      ]
    )
  }
}
// End.

package enum Block19 {
    package static var schema: Schema { User.schema }

    /// Reads a user and writes it again.
    package static func rewritten(_ json: String) throws -> String {
        try User(checking: StructuredContent(json: json)).generableContent.json
    }
}
