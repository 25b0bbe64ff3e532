import CChatterdSystem
import Glibc

/// One run of a program to its end, in its own session, with default signals and a minimal environment.
struct Subprocess {
    struct Result {
        let succeeded: Bool
        /// Standard output and standard error.
        let output: String
    }

    private let arguments: [String]
    private let directory: String
    private let input: String

    /// Describes a run.
    ///
    /// - Parameter user: the user that runs the program; `nil` for the user of this process. Another user needs root and `setpriv`,
    ///   which every Debian has.
    init(_ arguments: [String], as user: UserID? = nil, in directory: String = "/", input: String = "") {
        let prefix = user.map { ["setpriv", "--reuid=\($0.uid)", "--regid=\($0.gid)", "--clear-groups", "--"] } ?? []
        self.arguments = prefix + arguments
        self.directory = directory
        self.input = input
    }

    func run() -> Result {
        var sink: [Int32] = [-1, -1]
        guard pipe(&sink) == 0 else { return Result(succeeded: false, output: SystemMessage.last) }
        defer { close(sink[0]) }
        var source: [Int32] = [-1, -1]
        guard pipe(&source) == 0 else {
            close(sink[1])
            return Result(succeeded: false, output: SystemMessage.last)
        }
        for descriptor in sink + source { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        // The pipe's buffer holds the few bytes of input, so this does not block.
        _ = input.withCString { write(source[1], $0, input.utf8.count) }
        close(source[1])
        let process = spawn(input: source[0], output: sink[1])
        close(source[0])
        close(sink[1])
        guard process > 0 else {
            return Result(succeeded: false, output: "\(arguments[0]): \(SystemMessage.text(-process))")
        }
        let output = Self.readToEnd(sink[0])
        var status: Int32 = -1
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return Result(succeeded: status == 0, output: output)
    }

    private func spawn(input: Int32, output: Int32) -> Int32 {
        let vector = arguments.map { strdup($0) } + [nil]
        let environment = Self.environment.map { strdup($0) } + [nil]
        defer { for pointer in vector + environment { free(pointer) } }
        return csystem_spawn(vector, environment, directory, input, output, output)
    }

    /// No `PG…` variable, as these change what the programs do, and messages in English.
    private static var environment: [String] {
        let kept = ["PATH", "LD_LIBRARY_PATH", "TZ"].compactMap { (name: String) in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        return kept + ["LC_ALL=C"]
    }

    private static func readToEnd(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { bytes.append(contentsOf: buffer.prefix(count)) }
                if count == 0 || (count < 0 && errno != EINTR) { return }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The system's words for the errors of its calls.
enum SystemMessage {
    /// The words for the last call of this thread that failed.
    static var last: String { text(errno) }

    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
