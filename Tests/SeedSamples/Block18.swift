// swift-format-ignore-file
import ChatterSwiftAI

package enum Block18 {
// Printed:
@Generable
struct User {
  @Guide(description: "Username", .pattern("^[a-zA-Z][a-zA-Z0-9_]{2,}$"))
  let name: String

  @Guide(description: "User age", .minimum(18))
  let age: Int?

  @Guide(
    description: "User's favorite colors",
    .minimumCount(1),
    .maximumCount(3),
    .element(.anyOf("red", "green", "blue"))
  )
  let favoriteColors: [String]
}
// End.

    package static var schema: Schema { User.schema }
}
