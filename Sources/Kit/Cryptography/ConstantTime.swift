import CChatterdOpenSSL

/// Comparison of secrets.
public enum ConstantTime {
    /// Whether two texts are equal. The time depends on their lengths only, so that it does not depend on a secret's bytes.
    public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && copenssl_equal(left, right, left.count) == 1
    }
}
