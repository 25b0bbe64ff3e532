import ChatterdBasics
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648, section 10, without padding; RFC 7515, appendix C.
    static let vectors: [(bytes: [UInt8], text: String)] = [
        ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"), (Array("foo".utf8), "Zm9v"),
        (Array("foob".utf8), "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"), ([3, 236, 255, 224, 193], "A-z_4ME"),
    ]

    @Test(arguments: vectors)
    func bytesAreWritten(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
    }

    @Test(arguments: vectors)
    func textIsRead(bytes: [UInt8], text: String) {
        #expect(Base64URL.decode(text) == bytes)
    }

    /// Padding, the other alphabet, white space, other characters, and an impossible length.
    @Test(arguments: ["Zg==", "Zm8=", "A+z", "A/z_", "Zm9v\n", " Zm9v", "Zm9v.", "Z\u{e9}==", "Z", "Zm9vY", "Zm9v\0"])
    func otherTextIsRefused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    /// `Zh` would be the same byte as `Zg` for a decoder that ignores the last bits.
    @Test func bitsAfterTheLastByteAreZero() {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        #expect(digits.filter { Base64URL.decode("Z\($0)") != nil } == ["A", "Q", "g", "w"])
        #expect(digits.filter { Base64URL.decode("Zm\($0)") != nil }.count == 16)
    }

    @Test func everyByteReturns() {
        let all = Array(UInt8.min...UInt8.max)
        for length in 0...all.count {
            let bytes = Array(all.suffix(length))
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }
}
