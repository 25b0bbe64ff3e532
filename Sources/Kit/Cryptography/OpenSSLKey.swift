import CChatterdOpenSSL

/// Owns a key of OpenSSL.
///
/// The class is `@unchecked Sendable` because OpenSSL allows threads to share an `EVP_PKEY` that does not change: after its creation a key
/// is only read, what OpenSSL caches inside of it is under OpenSSL's own locks, and each signature or verification makes its own context
/// (openssl-threads(7)).
final class OpenSSLKey: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        copenssl_key_free(pointer)
    }
}
