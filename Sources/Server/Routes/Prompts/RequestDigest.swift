import CChatterdOpenSSL

/// The digest of a request body, to recognize a repeated request.
enum RequestDigest {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        Array(unsafeUninitializedCapacity: 32) { digest, count in
            bytes.withUnsafeBufferPointer { copenssl_sha256($0.baseAddress, $0.count, digest.baseAddress) }
            count = 32
        }
    }
}
