/// What an Ollama says of a model in its list, beside the name. Texts that are longer than the limits are left out.
public struct InstalledModel: Sendable, Equatable {
    /// The limit of each text, in bytes.
    public static let textLimit = 128
    /// The limit of families.
    public static let familyLimit = 16

    /// The time of the last change (RFC 3339).
    public var modifiedAt = ""
    /// The size of its files, in bytes.
    public var size = 0
    /// The SHA-256 of its manifest.
    public var digest = ""
    /// The format of its weights, such as `gguf`.
    public var format = ""
    public var family = ""
    public var families: [String] = []
    /// The number of its parameters, such as `8.0B`.
    public var parameterSize = ""
    /// The quantization of its weights, such as `Q4_K_M`.
    public var quantizationLevel = ""

    public init() {}
}
