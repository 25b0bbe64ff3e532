import CChatterdOpenSSL
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdPostgresStore

/// A digest by which the body of a request is known again.
enum RequestDigest {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        Array(unsafeUninitializedCapacity: 32) { digest, count in
            bytes.withUnsafeBufferPointer { copenssl_sha256($0.baseAddress, $0.count, digest.baseAddress) }
            count = 32
        }
    }
}
