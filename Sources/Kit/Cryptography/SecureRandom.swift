import CChatterdOpenSSL

/// Random bytes for secrets.
public enum SecureRandom {
    /// Unpredictable bytes.
    ///
    /// The program stops if the system has no randomness, because every secret that it made then would be known.
    public static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            guard copenssl_random(bytes.baseAddress, count) == 1 else {
                fatalError("the system gives no random bytes, so chatterd cannot make secrets")
            }
            initialized = count
        }
    }
}
