/// Names that FoundationModels has too, for the test that both modules can be imported into one file.
public protocol Generable {
    static var generationSchema: String { get }
}

public protocol Tool {
    var name: String { get }
}

public struct Prompt {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

public struct Transcript {
    public init() {}
}
