/// Macros that have the names of those of `ChatterMacros`, and add nothing.
@attached(peer)
public macro Generable() = #externalMacro(module: "ChatterdMacroPlugin", type: "Guide")

@attached(peer)
public macro Guide(description: String) = #externalMacro(module: "ChatterdMacroPlugin", type: "Guide")
