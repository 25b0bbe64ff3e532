// swift-format-ignore-file
import ChatterSwiftAI

enum Block20 {
// Printed:
public struct LLMReplyOptions: Sendable, Equatable {
  public let temperature: Double?
  public let maximumTokens: Int?
  public let samplingMode: SamplingMode?
}
// End.
}

extension LLMReplyOptions {
    /// The library's options for the printed ones.
    init(_ options: Block20.LLMReplyOptions) {
        self.init(
            temperature: options.temperature, maximumTokens: options.maximumTokens, samplingMode: options.samplingMode)
    }
}

/// The library's options for printed ones.
package func optionsOfBlock20(temperature: Double?, maximumTokens: Int?, samplingMode: SamplingMode?) -> LLMReplyOptions {
    LLMReplyOptions(
        Block20.LLMReplyOptions(temperature: temperature, maximumTokens: maximumTokens, samplingMode: samplingMode))
}
