import ChatterdCryptography
import Testing

@Suite struct AuthenticationKeyTests {
    /// RFC 4231, section 4: cases 1, 2, 3, 4, 6 and 7.
    static let vectors: [(key: String, message: String, code: String)] = [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
                + "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
                + "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
                + "676f726974686d2e",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: vectors)
    func codeIsThatOfTheRFC(key: String, message: String, code: String) {
        let message = Hexadecimal.bytes(message)
        let key = AuthenticationKey(bytes: Hexadecimal.bytes(key))
        #expect(Hexadecimal.text(key.code(of: message)) == code)
        #expect(key.verify(Hexadecimal.bytes(code), of: message))
    }

    @Test func otherCodesKeysAndMessagesAreRefused() {
        let key = AuthenticationKey.random()
        let message = Array("message".utf8)
        let code = key.code(of: message)
        for index in code.indices {
            var other = code
            other[index] ^= 0x80
            #expect(!key.verify(other, of: message))
        }
        #expect(!key.verify(code.dropLast(), of: message))
        #expect(!key.verify([], of: message))
        #expect(!key.verify(code, of: message.dropLast()))
        #expect(!AuthenticationKey.random().verify(code, of: message))
    }

    @Test func emptyKeyAndMessageHaveACode() {
        let code = AuthenticationKey(bytes: []).code(of: [])
        #expect(Hexadecimal.text(code) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func keyIsNotShown() {
        let key = AuthenticationKey(bytes: [UInt8](repeating: 173, count: 32))
        var shown = "\(key)"
        dump(key, to: &shown)
        #expect(!shown.contains("173"))
    }
}
