// swift-format-ignore-file
import ChatterSwiftAI

package enum Block21 {
// Printed:
public enum SamplingMode: Sendable, Equatable {
  case topP(Double)
  case greedy
}
// End.
}

extension Block21 {
    /// The library's mode for the printed one.
    static func mode(_ mode: SamplingMode) -> ChatterSwiftAI.SamplingMode {
        switch mode {
        case .topP(let probability): .topP(probability)
        case .greedy: .greedy
        }
    }

    /// The library's modes for the printed ones.
    package static var modes: [ChatterSwiftAI.SamplingMode] { [mode(.topP(0.5)), mode(.greedy)] }
}
