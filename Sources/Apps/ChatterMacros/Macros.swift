@_exported import ChatterModels

/// Makes a structure or an enumeration generable: `ChatterModels.Generable` with its form, and a typed partial value.
///
///     @Generable
///     struct User {
///         @Guide(description: "Username", .pattern("^[a-zA-Z][a-zA-Z0-9_]{2,}$"))
///         let name: String
///         @Guide(.minimum(18))
///         let age: Int?
///     }
///
/// A model generates the stored properties without an initial value: texts, numbers, Booleans, generable types, arrays and optionals of
/// them. An enumeration without associated values is a choice among the names of its cases, or its raw values if those are `String`. With
/// associated values it is one of several objects: the member `type` is the name of the case, the others are its values by their labels,
/// or `value` for one without a label.
///
/// - Parameter description: what the type means, for the model.
@attached(member, names: named(schema), named(Partial))
@attached(extension, conformances: ChatterModels.Generable, names: named(init(from:)), named(generableContent))
public macro Generable(description: String? = nil) =
    #externalMacro(module: "ChatterdMacroPlugin", type: "Generable")

/// What a property of a `@Generable` structure means, and the conditions for its values.
///
/// - Parameters:
///   - description: what the property means, for the model.
///   - conditions: conditions of the property's type, those of `Constraint`.
@attached(peer)
public macro Guide(description: String? = nil, _ conditions: GuideCondition...) =
    #externalMacro(module: "ChatterdMacroPlugin", type: "Guide")
