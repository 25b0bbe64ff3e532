import Glibc

/// Reads the small files that variables name.
public enum ConfigurationFile {
    /// Reads a whole file as text. Tests inject their own.
    public typealias Read = @Sendable (_ path: String) -> Result<String, Failure>

    /// Why a file cannot be used.
    public struct Failure: Error, Sendable, Equatable {
        /// The reason in a few words, without any of the file's content.
        public let reason: String

        public init(reason: String) {
            self.reason = reason
        }
    }

    /// The size limit of a file, in bytes.
    public static let limit = 1 << 20

    /// Reads a file of at most `limit` bytes of UTF-8 without NUL.
    public static func read(_ path: String) -> Result<String, Failure> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(Failure(reason: String(cString: strerror(errno)))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failure(Failure(reason: String(cString: strerror(errno)))) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { return .failure(Failure(reason: "it is larger than 1MiB")) }
        }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            return .failure(Failure(reason: "it is not UTF-8 text"))
        }
        return .success(text)
    }

    /// The text without the line ends that editors and `echo` leave.
    static func withoutLineEnd(_ text: String) -> String {
        var bytes = text.utf8[...]
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return String(Substring(bytes))
    }
}
