import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct NearestNamesTests {
    private let known = ["llama3.2:3b", "qwen3:8b", "gpt-5-mini", "gpt-5", "echo"]

    @Test func nearestNameIsFoundAtAnyDistance() {
        #expect(NearestNames.nearest(to: "qwen", among: known) == "qwen3:8b")
        #expect(NearestNames.nearest(to: "qwen3:4b", among: known) == "qwen3:8b")
        #expect(NearestNames.nearest(to: "", among: known) == "echo")
        #expect(NearestNames.nearest(to: "x", among: []) == nil)
    }

    @Test func similarNamesComeInTheOrderOfTheirDistance() {
        #expect(NearestNames.similar(to: "gpt-5-min", among: known, atMost: 3) == ["gpt-5-mini"])
        #expect(NearestNames.similar(to: "gpt5", among: known, atMost: 3) == ["gpt-5"])
        #expect(NearestNames.similar(to: "ecco", among: known, atMost: 3) == ["echo"])
        #expect(NearestNames.similar(to: "claude", among: known, atMost: 3) == [])
        #expect(NearestNames.similar(to: "a", among: ["b", "c", "a", "d"], atMost: 2) == ["a", "b"])
    }

    @Test func nameWithoutItsEndIsSimilar() {
        #expect(NearestNames.similar(to: "llama3", among: known, atMost: 3) == ["llama3.2:3b"])
        #expect(NearestNames.similar(to: "", among: ["a long name"], atMost: 3) == [])
    }

    @Test func onlyTheBeginningOfALongNameIsCompared() {
        let long = String(repeating: "n", count: 100_000)
        #expect(NearestNames.similar(to: long, among: [String(repeating: "n", count: 90), "n"], atMost: 3).count == 1)
        let many = (0..<10_000).map { "model-\($0)" }
        #expect(NearestNames.similar(to: "model-9999", among: many, atMost: 3).count == 3)
    }
}
