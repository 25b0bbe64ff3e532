import ChatterdBasics
import ChatterdTestSupport
import Testing

struct PeerCountTests {
    @Test(arguments: PeerNumber.all)
    func numberOutOfBoundsIsNotGiven(_ number: PeerNumber) throws {
        let text = Array("[\(number.text),7]".utf8)
        var reader = JSONReader(text.span)
        try reader.beginArray()
        _ = try reader.nextElement()
        let first: Int? = try reader.countOrSkip()
        _ = try reader.nextElement()
        let second: Int? = try reader.countOrSkip()
        #expect(first == number.count && second == 7)
    }

    @Test func brokenNumberIsAnError() {
        let text = Array("-x".utf8)
        var reader = JSONReader(text.span)
        let isRead = (try? reader.countOrSkip()) != nil
        #expect(!isRead)
    }

    @Test(arguments: [
        (1, 2, 3), (1 << 53, 1 << 53, 1 << 54), (.max, 1, .max), (.max, .max, .max), (.min, -1, .min), (.min, .max, -1),
    ])
    func sumThatDoesNotFitIsTheNearestNumber(_ left: Int, _ right: Int, _ sum: Int) {
        #expect(PeerCount.sum(left, right) == sum && PeerCount.sum(right, left) == sum)
    }
}
