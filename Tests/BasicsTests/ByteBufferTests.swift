import ChatterdBasics
import Testing

@Suite struct ByteBufferTests {
    @Test(arguments: [0, 1, 9, 10, 11, 99, 100, 101, 65_536, 999_999, 1_000_000, .max, -1, -10, -99, .min])
    func numberIsAppendedInDecimalDigits(value: Int) {
        var buffer = ByteBuffer()
        buffer.append("x")
        buffer.append(decimal: value)
        #expect(buffer.string == "x\(value)")
    }

    @Test func largestNumberIsAppendedInDecimalDigits() {
        var buffer = ByteBuffer()
        buffer.append(decimal: UInt.max)
        #expect(buffer.string == "\(UInt.max)")
    }
}
