import ChatterdMacroExpansion

/// Expands the macros of `ChatterMacros` for the compiler, which starts this program.
///
/// This target has no other code: SwiftPM builds a macro, and all that a test of one links, for the compiler's machine too.
@main
struct Plugin {
    static func main() {
        PluginConversation.run()
    }
}
