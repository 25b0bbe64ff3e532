import ChatterdCryptography
import Testing

/// Random bytes and comparisons.
@Suite struct SecretTests {
    @Test(arguments: [0, 1, 32, 1_000])
    func randomBytesHaveTheirNumber(count: Int) {
        #expect(SecureRandom.bytes(count).count == count)
    }

    /// Two equal ones in a million drawn at random would have a probability below 2^-200.
    @Test func randomBytesDoNotRepeat() {
        let all = Set((0..<1_000).map { _ in SecureRandom.bytes(32) })
        #expect(all.count == 1_000)
    }

    /// Two equal ones in two thousand drawn at random would have a probability below 2^-42.
    @Test func randomNumbersDoNotRepeat() {
        let generators = [BufferedRandom(), BufferedRandom()]
        let all = Set(generators.flatMap { generator in (0..<1_000).map { _ in generator.next() } })
        #expect(all.count == 2_000)
    }

    @Test func equalTextsAreEqual() {
        #expect(ConstantTime.areEqual([], []))
        #expect(ConstantTime.areEqual([1, 2, 3], [1, 2, 3]))
    }

    @Test func differentTextsDiffer() {
        #expect(!ConstantTime.areEqual([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.areEqual([1, 2, 3], [0, 2, 3]))
        #expect(!ConstantTime.areEqual([1, 2, 3], [1, 2]))
        #expect(!ConstantTime.areEqual([], [0]))
    }
}
