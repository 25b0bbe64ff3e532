import ChatterdBasics

/// An answer to the compiler.
enum PluginResponse {
    case capability
    /// The source that a macro adds, or the reasons why it adds none.
    case expansion(String?, [Diagnostic])
    case libraryNotLoaded

    /// The version of the protocol: that of Swift 5.9 and later.
    private static let protocolVersion = 7

    var json: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.appendJSON { writer in
            writer.object { message in
                switch self {
                case .capability:
                    message.object("getCapabilityResult") { result in
                        result.object("capability") { capability in
                            capability.member("protocolVersion", Self.protocolVersion)
                            capability.array("features") { _ in }
                        }
                    }
                case .expansion(let source, let diagnostics):
                    message.object("expandMacroResult") { result in
                        result.member("expandedSource", source)
                        result.array("diagnostics") { list in
                            for diagnostic in diagnostics { diagnostic.write(to: &list) }
                        }
                    }
                case .libraryNotLoaded:
                    message.object("loadPluginLibraryResult") { result in
                        result.member("loaded", false)
                        result.array("diagnostics") { _ in }
                    }
                }
            }
        }
        return buffer
    }
}

extension Diagnostic {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { diagnostic in
            diagnostic.member("message", message)
            diagnostic.member("severity", "error")
            diagnostic.object("position") { position in
                position.member("fileName", fileName)
                position.member("offset", offset)
            }
            for list in ["highlights", "notes", "fixIts"] {
                diagnostic.array(list) { _ in }
            }
        }
    }
}
