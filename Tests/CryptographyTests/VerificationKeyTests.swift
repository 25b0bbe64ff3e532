import ChatterdBasics
import ChatterdCryptography
import Testing

@Suite struct VerificationKeyTests {
    private func verify(_ parts: [String], _ key: VerificationKey) -> Bool {
        key.verify(JWSVectors.bytes(parts[1]), of: Array(parts[0].utf8))
    }

    @Test func signaturesOfTheRFCsAreRight() throws {
        #expect(verify(JWSVectors.rs256, try JWSVectors.rsaKey()))
        #expect(verify(JWSVectors.es256, try JWSVectors.p256Key()))
        #expect(verify(JWSVectors.edDSA, try JWSVectors.ed25519Key()))
        let key = try SigningKey(seed: JWSVectors.bytes(JWSVectors.seed))
        #expect(Base64URL.encode(key.publicBytes) == JWSVectors.ed25519)
        #expect(Base64URL.encode(key.sign(Array(JWSVectors.edDSA[0].utf8))) == JWSVectors.edDSA[1])
    }

    @Test func algorithmBelongsToTheKey() throws {
        #expect(try JWSVectors.rsaKey().algorithm == .rs256)
        #expect(try JWSVectors.p256Key().algorithm == .es256)
        #expect(try JWSVectors.ed25519Key().algorithm == .edDSA)
    }

    @Test func signatureOfAnotherKindOfKeyIsWrong() throws {
        let keys = [try JWSVectors.rsaKey(), try JWSVectors.p256Key(), try JWSVectors.ed25519Key()]
        let signatures = [JWSVectors.rs256, JWSVectors.es256, JWSVectors.edDSA]
        for (index, key) in keys.enumerated() {
            for (other, signature) in signatures.enumerated() {
                #expect(verify(signature, key) == (index == other))
            }
        }
    }

    @Test func changedSignatureOrMessageIsWrong() throws {
        for (parts, key) in [
            (JWSVectors.rs256, try JWSVectors.rsaKey()), (JWSVectors.es256, try JWSVectors.p256Key()),
            (JWSVectors.edDSA, try JWSVectors.ed25519Key()),
        ] {
            let message = Array(parts[0].utf8)
            let signature = JWSVectors.bytes(parts[1])
            for index in signature.indices {
                var other = signature
                other[index] ^= 1
                #expect(!key.verify(other, of: message))
            }
            for index in message.indices {
                var other = message
                other[index] ^= 1
                #expect(!key.verify(signature, of: other))
            }
            #expect(!key.verify(signature, of: []))
        }
    }

    @Test func signatureOfAnotherLengthIsWrong() throws {
        for (parts, key) in [
            (JWSVectors.rs256, try JWSVectors.rsaKey()), (JWSVectors.es256, try JWSVectors.p256Key()),
            (JWSVectors.edDSA, try JWSVectors.ed25519Key()),
        ] {
            let message = Array(parts[0].utf8)
            let signature = JWSVectors.bytes(parts[1])
            for other in [[], Array(signature.dropLast()), signature + [0], [0] + signature, signature + signature] {
                #expect(!key.verify(other, of: message))
            }
        }
    }

    /// The form of X.509 and TLS, which JWS does not use (RFC 7518, section 3.4).
    @Test func signatureInDERIsWrong() throws {
        let parts = JWSVectors.p256Token.split(separator: ".").map(String.init)
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let key = try JWSVectors.p256Key()
        #expect(key.verify(JWSVectors.bytes(parts[2]), of: input))
        #expect(!key.verify(JWSVectors.bytes(JWSVectors.derSignature), of: input))
    }

    @Test func signatureWithTheOtherPaddingOfRSAIsWrong() throws {
        let parts = JWSVectors.rsaToken.split(separator: ".").map(String.init)
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let key = try JWSVectors.rsaKey()
        #expect(key.verify(JWSVectors.bytes(parts[2]), of: input))
        #expect(!key.verify(JWSVectors.bytes(JWSVectors.pssSignature), of: input))
    }

    /// CVE-2022-21449: verifiers that do not check the range of r and s take zeros for the signature of any message.
    @Test func signatureOfZerosIsWrong() throws {
        let zeros = [UInt8](repeating: 0, count: 64)
        let message = Array("message".utf8)
        #expect(try !JWSVectors.p256Key().verify(zeros, of: message))
        #expect(try !JWSVectors.ed25519Key().verify(zeros, of: message))
        #expect(try !JWSVectors.rsaKey().verify([UInt8](repeating: 0, count: 256), of: message))
    }

    @Test func membersOfAnotherSizeAreRefused() {
        let short = [UInt8](repeating: 1, count: 31)
        for bytes in [[], short, short + [1, 1]] {
            #expect(throws: KeyError.self) { try VerificationKey(ed25519: bytes) }
            #expect(throws: KeyError.self) { try VerificationKey(p256X: bytes, y: JWSVectors.bytes(JWSVectors.y)) }
            #expect(throws: KeyError.self) { try VerificationKey(p256X: JWSVectors.bytes(JWSVectors.x), y: bytes) }
        }
    }

    @Test func pointBesideTheCurveIsRefused() {
        var y = JWSVectors.bytes(JWSVectors.y)
        y[31] ^= 1
        let error = #expect(throws: KeyError.self) { try VerificationKey(p256X: JWSVectors.bytes(JWSVectors.x), y: y) }
        #expect(error?.code == .invalid)
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(throws: KeyError.self) { try VerificationKey(p256X: zeros, y: zeros) }
    }

    /// A modulus with a number of bits.
    private func modulus(bits: Int) -> [UInt8] {
        var modulus = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
        modulus[0] = 0xFF >> ((8 - bits % 8) % 8)
        return modulus
    }

    @Test(arguments: [
        (2_047, false), (2_048, true), (3_072, true), (8_192, true), (8_193, false), (1_024, false), (65_536, false),
    ])
    func modulusOfRSAHas2048To8192Bits(bits: Int, isUsable: Bool) {
        let key = try? VerificationKey(rsaModulus: modulus(bits: bits), exponent: [1, 0, 1])
        #expect((key != nil) == isUsable)
        // RFC 7518 6.3.1.1: some programs write a byte for the sign.
        let padded = try? VerificationKey(rsaModulus: [0] + modulus(bits: bits), exponent: [1, 0, 1])
        #expect((padded != nil) == isUsable)
    }

    /// With the exponent 1 a signature would be the padded digest itself.
    @Test(arguments: [[], [0], [1], [0, 1], [2], [1, 0, 0], [UInt8](repeating: 255, count: 9)])
    func unsafeExponentOfRSAIsRefused(exponent: [UInt8]) {
        #expect(throws: KeyError.self) { try VerificationKey(rsaModulus: modulus(bits: 2_048), exponent: exponent) }
    }

    @Test func evenModulusOfRSAIsRefused() {
        #expect(throws: KeyError.self) {
            try VerificationKey(rsaModulus: modulus(bits: 2_048).dropLast() + [0xFE], exponent: [3])
        }
        #expect(throws: KeyError.self) { try VerificationKey(rsaModulus: [], exponent: [3]) }
    }

    @Test func threadsShareAKey() async throws {
        let keys = [try JWSVectors.rsaKey(), try JWSVectors.p256Key(), try JWSVectors.ed25519Key()]
        let signatures = [JWSVectors.rs256, JWSVectors.es256, JWSVectors.edDSA]
        let right = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<300 {
                group.addTask { verify(signatures[number % 3], keys[number % 3]) }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(right == 300)
    }

    @Test func errorSaysNothingOfTheKey() {
        let error = #expect(throws: KeyError.self) { try VerificationKey(ed25519: [173]) }
        #expect(error.map { "\($0)" } == "wrong_size: A public key of Ed25519 has 32 bytes.")
    }
}
