import Glibc

/// A program of the system, for tests of interoperability. `isInstalled` enables the tests that need one.
public final class ForeignProgram: Sendable {
    private let program: Spawned
    private let output: Monitor<String>

    /// Whether PATH has the program.
    public static func isInstalled(_ name: String) -> Bool {
        (plainEnvironment["PATH"] ?? "").split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Runs a program to its end, and returns its exit code and its output.
    public static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let result = try ChatterdTestSupport.run(arguments)
        return (result.status, String(decoding: result.output, as: UTF8.self) + result.errors)
    }

    /// Starts a program, which runs until the object is deallocated.
    public init(_ arguments: [String]) throws {
        program = try spawn(arguments, environment: plainEnvironment)
        output = Monitor("")
        for fd in [program.output, program.errors] {
            startThread { [output] in
                while true {
                    let bytes = readSome(fd)
                    if bytes.isEmpty { break }
                    output.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
                }
                close(fd)
            }
        }
    }

    deinit {
        kill(program.pid, SIGKILL)
        _ = waitForExit(program.pid)
        close(program.input)
    }

    /// Waits until the program has written `prefix`, a text and a line end, and returns the text.
    public func waitFor(_ prefix: String) throws -> String {
        let found = output.wait { output -> String? in
            guard let range = output.firstRange(of: prefix) else { return nil }
            let rest = output[range.upperBound...]
            return rest.contains("\n") ? String(rest.prefix { $0 != "\n" }) : nil
        }
        guard let found else { throw TestFailure("the output has no \(prefix): \(output.withLock { $0 })") }
        return found
    }
}
