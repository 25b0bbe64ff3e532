import ChatterdCryptography
import Testing

@Suite struct SHA256DigestTests {
    /// FIPS 180-4, the examples of NIST.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func digestIsThatOfTheStandard(text: String, digest: String) {
        let bytes = Array(text.utf8)
        let computed = SHA256Digest(of: bytes.span)
        #expect(Hexadecimal.text(computed.bytes) == digest)
    }

    @Test func digestReturnsFromItsBytes() {
        let bytes: [UInt8] = [1, 2, 3]
        let digest = SHA256Digest(of: bytes.span)
        #expect(SHA256Digest(bytes: digest.bytes) == digest)
        #expect(SHA256Digest(bytes: digest.bytes.dropLast()) == nil)
        #expect(SHA256Digest(bytes: (digest.bytes + [0])) == nil)
    }

    @Test func everyByteCountsInAComparison() {
        let bytes = (0..<32).map { UInt8($0) }
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(SHA256Digest(bytes: other) != SHA256Digest(bytes: bytes))
        }
    }
}
