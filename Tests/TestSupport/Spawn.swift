import Glibc

/// A started program and its three pipes.
struct Spawned {
    let pid: pid_t
    let input: Int32
    let output: Int32
    let errors: Int32
}

/// Starts a program found on PATH or by its path, with empty signal mask and none of our descriptors.
func spawn(_ arguments: [String], environment: [String: String], ownGroup: Bool = true) throws -> Spawned {
    let input = makePipe()
    let output = makePipe()
    let errors = makePipe()
    // The ends of the child block, as programs expect.
    for end in [output.writer, errors.writer] { _ = fcntl(end, F_SETFL, 0) }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.reader, 0)
    posix_spawn_file_actions_adddup2(&actions, output.writer, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writer, 2)
    closeAllOthers(&actions)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Dispatch blocks signals on its threads; a child that inherited that would ignore SIGTERM.
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    if ownGroup {
        posix_spawnattr_setpgroup(&attributes, 0)
        flags |= POSIX_SPAWN_SETPGROUP
    }
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var pid: pid_t = 0
    let variables = environment.map { "\($0.key)=\($0.value)" }
    let failure = withCStrings(arguments) { argv in
        withCStrings(variables) { envp in
            posix_spawnp(&pid, arguments.first ?? "", &actions, &attributes, argv, envp)
        }
    }
    for end in [input.reader, output.writer, errors.writer] { close(end) }
    guard failure == 0 else {
        for end in [input.writer, output.reader, errors.reader] { close(end) }
        throw TestFailure("cannot start \(arguments.first ?? ""): \(String(cString: strerror(failure)))")
    }
    return Spawned(pid: pid, input: input.writer, output: output.reader, errors: errors.reader)
}

/// Runs a program to its end and returns its output.
func run(
    _ arguments: [String], environment: [String: String] = plainEnvironment
) throws -> (
    status: Int32, output: [UInt8], errors: String
) {
    let program = try spawn(arguments, environment: environment)
    close(program.input)
    var output: [UInt8] = []
    var errors: [UInt8] = []
    var open: [(fd: Int32, events: Int16)] = [(program.output, Int16(POLLIN)), (program.errors, Int16(POLLIN))]
    while !open.isEmpty, let ready = waitForAny(open, upTo: 3600) {
        let fd = open[ready].fd
        let bytes = readSome(fd)
        if bytes.isEmpty { open.remove(at: ready) }
        if fd == program.output { output += bytes } else { errors += bytes }
    }
    close(program.output)
    close(program.errors)
    return (waitForExit(program.pid), output, String(decoding: errors, as: UTF8.self))
}

/// Reaps a child: its exit code, or the negated signal that ended it.
func waitForExit(_ pid: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : -signal
}

/// Reads the present bytes; empty at the end.
func readSome(_ fd: Int32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
        var got = -1
        repeat { got = read(fd, buffer.baseAddress, buffer.count) } while got < 0 && errno == EINTR
        count = max(0, got)
    }
}

/// An environment without variables that redirect libpq or a server. It keeps the options of the sanitizers.
let plainEnvironment: [String: String] = {
    var variables = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"]
    for name in ["TSAN_OPTIONS", "ASAN_OPTIONS"] {
        variables[name] = getenv(name).map { String(cString: $0) }
    }
    return variables
}()

private func closeAllOthers(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>) {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    // glibc declares it for _GNU_SOURCE only. Without it a child started beside an accept might keep that socket open.
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafeBitCast(symbol, to: CloseFrom.self)(actions, 3)
}

private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return copies.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("an array with a terminator has an address") }
        return body(base)
    }
}
