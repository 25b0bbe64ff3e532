import CChatterdSystem
import Glibc

/// A program of a tool, started without a shell: in its own session, without the environment of this process, with pipes to its standard
/// input, output and errors.
///
/// It is killed when the thread that has started it ends, so that it does not outlive this process.
struct SpawnedProgram {
    let process: pid_t
    /// Our ends of the pipes. None of them blocks.
    let input: Int32
    let output: Int32
    let errors: Int32

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: its path and its arguments.
    ///   - limits: options of prlimit(1).
    ///   - variables: its environment, beside `PATH` and `LC_ALL`.
    /// - Throws: why it cannot be started.
    init(_ arguments: [String], limits: [String], variables: [String], directory: String) throws(SpawnFailure) {
        var ends: [Int32] = []
        for _ in 0..<3 {
            var pair: [Int32] = [-1, -1]
            guard csystem_pipe(&pair) == 0 else {
                let failure = SpawnFailure(reason: "there are no pipes: \(String(cString: strerror(errno)))")
                for end in ends { close(end) }
                throw failure
            }
            ends += pair
        }
        (input, output, errors) = (ends[1], ends[2], ends[4])
        for ours in [input, output, errors] { _ = fcntl(ours, F_SETFL, O_NONBLOCK) }
        // Both belong to util-linux, which each Debian has.
        let start = ["setpriv", "--pdeathsig", "KILL", "--", "prlimit"] + limits + ["--"]
        let vector = (start + arguments).map { strdup($0) } + [nil]
        let environment =
            (["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"] + variables).map { strdup($0) } + [nil]
        defer { for pointer in vector + environment { free(pointer) } }
        process = csystem_spawn(vector, environment, directory, ends[0], ends[3], ends[5])
        for theirs in [ends[0], ends[3], ends[5]] { close(theirs) }
        guard process > 0 else {
            for ours in [input, output, errors] { close(ours) }
            throw SpawnFailure(reason: "the program cannot be started: \(String(cString: strerror(-process)))")
        }
    }

    /// Whether the program has ended. It stays a zombie until `reap`, so that no other process can have its number.
    var hasEnded: Bool {
        var info = siginfo_t()
        let found = waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT | WNOHANG)
        return found == 0 && info._sifields._sigchld.si_pid == process
    }

    /// Kills what is left of the group of the program, and returns the program's status of waitpid(2).
    func reap() -> Int32 {
        var status: Int32 = 0
        kill(-process, SIGKILL)
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Reads what a pipe has; `false` at its end.
    static func read(_ descriptor: Int32, into bytes: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer.prefix(count)) }
            return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
        }
    }

    /// Writes a part of the input; `false` at its end, or if the program does not read it.
    static func write(_ rest: inout ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        guard !rest.isEmpty else { return false }
        let count = rest.withUnsafeBytes { csystem_write(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { return count == -Int(EAGAIN) || count == -Int(EINTR) }
        rest = rest.dropFirst(count)
        return !rest.isEmpty
    }
}

/// Why a program cannot be started.
struct SpawnFailure: Error {
    let reason: String
}
