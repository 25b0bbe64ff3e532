import LanguageModels
import Relay
import Testing

struct ModelDirectoryTests {
    private let one = ScriptedModel()
    private let two = ScriptedModel()
    private let three = ScriptedModel()

    @Test func aNameGoesToWhoClaimsItAndTheRestToTheFirst() {
        let directory = ModelDirectory(
            .init(name: "1", serves: [], model: one), [.init(name: "2", serves: ["echo", "x"], model: two)])
        #expect(directory.model(named: "echo") === two)
        #expect(directory.model(named: "anything") === one)
    }

    @Test func theFirstOfTwoClaimsCounts() {
        let directory = ModelDirectory(
            .init(name: "1", serves: ["x"], model: one), [.init(name: "2", serves: ["x", "y"], model: two)])
        #expect(directory.model(named: "x") === one)
        #expect(directory.model(named: "y") === two)
        #expect(directory.model(named: "z") === one)
    }

    @Test func whoClaimsNothingServesTheRest() {
        let directory = ModelDirectory(
            .init(name: "1", serves: ["x"], model: one),
            [.init(name: "2", serves: [], model: two), .init(name: "3", serves: [], model: three)])
        #expect(directory.model(named: "z") === two)
    }

    @Test func everyErrorHasACodeOfItsOwn() {
        let codes = RelayError.Code.all.map(\.rawValue)
        #expect(Set(codes).count == codes.count)
        #expect(codes.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "_" } })
    }
}
