extension SeededGenerator {
    /// The bytes that structure JSON texts.
    public static let punctuation = Array("{}[]\",:\\u0d8-e t".utf8)

    /// A JSON text with containers in containers, `depth` of them at most.
    public mutating func json(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
        case 0: return "null"
        case 1: return "true"
        case 2: return String(Int.random(in: -1000...1000, using: &self))
        case 3: return ["0.5", "-1.25e2", "1E3", "0"][Int.random(in: 0..<4, using: &self)]
        case 4, 5:
            return [#""""#, #""a\n""#, #""\u0041é""#, #""\ud83d\ude00\\""#, #""x y z 1 2 3""#][
                Int.random(in: 0..<5, using: &self)]
        case 6:
            return "["
                + (0..<Int.random(in: 0...3, using: &self)).map { _ in json(depth: depth - 1) }.joined(separator: ", ")
                + "]"
        default:
            return "{"
                + (0..<Int.random(in: 0...3, using: &self)).map { "\"k\($0)\":" + json(depth: depth - 1) }.joined(
                    separator: ",") + "}"
        }
    }
}
