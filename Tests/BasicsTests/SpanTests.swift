import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct SpanTests {
    @Test func arrayIsACopyOfTheSpan() {
        let numbers = [1, 2, 3]
        #expect(numbers.span.array == numbers)
        #expect(numbers.span.extracting(1..<2).array == [2])
        #expect([UInt8]().span.array == [])
    }

    @Test func spanEqualsTheBytesOfALiteral() {
        let bytes = [UInt8]("null".utf8)
        let (same, shorter, other) = (
            bytes.span.isEqual(to: "null"), bytes.span.isEqual(to: "nul"), bytes.span.isEqual(to: "nulL")
        )
        #expect(same && !shorter && !other)
    }

    @Test func bytesHaveTwoHexadecimalDigitsEach() {
        #expect(String(hexadecimal: [0x00, 0x0F, 0x9A, 0xFF] as [UInt8]) == "000f9aff")
        #expect(String(hexadecimal: "né".utf8) == "6ec3a9")
        #expect(String(hexadecimal: [UInt8]()).isEmpty)
    }

    @Test func hexadecimalDigitHasItsValueInEitherCase() {
        let digits = "0123456789abcdef".utf8
        for (value, digit) in digits.enumerated() {
            #expect(digit.hexDigitValue == UInt8(value))
        }
        #expect("ABCDEF".utf8.map(\.hexDigitValue) == [10, 11, 12, 13, 14, 15])
        for byte in "/:@G`g ".utf8 {
            #expect(byte.hexDigitValue == nil)
        }
    }
}
