import FoundationEssentials
import Glibc

/// The data directory of a private cluster and the user that PostgreSQL runs as there.
///
/// The directory gets its name only once it is complete, so an existing one can be started. It contains the socket.
struct ClusterHome: Sendable {
    /// Absolute path of the data directory.
    let data: String
    /// The major version that created it; `nil` if it does not exist yet.
    let version: String?
    /// The user that PostgreSQL runs as; `nil` for the user of this process.
    private let user: UserID?
    /// Time for PostgreSQL to start, in seconds.
    var startTimeout = 60

    /// Finds the cluster of `top`, or the path for a new one, which is not below `top` if PostgreSQL's user cannot enter `top`.
    static func choose(in top: String, log: (String) -> Void) throws(DevelopmentClusterError) -> ClusterHome {
        let here = top + "/postgres"
        if let home = try existing(here) { return home }
        guard geteuid() == 0 else { return ClusterHome(data: here, version: nil, user: nil) }
        guard let postgres = UserID(name: "postgres") else { throw .noUser }
        if Subprocess(["test", "-x", top], as: postgres).run().succeeded {
            return ClusterHome(data: here, version: nil, user: postgres)
        }
        let elsewhere = "/var/lib/chatterd-dev/" + hash(top)
        log("the user postgres cannot enter \(top), so the database is kept in \(elsewhere)")
        _ = try PrivateDirectory.create("/var/lib/chatterd-dev")
        _ = try PrivateDirectory.create(elsewhere)
        return try existing(elsewhere + "/postgres")
            ?? ClusterHome(data: elsewhere + "/postgres", version: nil, user: postgres)
    }

    private static func existing(_ data: String) throws(DevelopmentClusterError) -> ClusterHome? {
        var status = stat()
        guard stat(data, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw .unusable(data)
        }
        let ours = geteuid()
        guard status.st_uid != 0, ours == 0 || status.st_uid == ours else {
            throw .foreign(data: data, owner: status.st_uid)
        }
        guard let version = try? String(contentsOfFile: data + "/PG_VERSION", encoding: .utf8) else {
            throw .unusable(
                path: data, reason: "this is not a PostgreSQL data directory: move it away to start with an empty one")
        }
        let user = ours == 0 ? UserID(uid: status.st_uid, gid: status.st_gid) : nil
        return ClusterHome(data: data, version: version.filter { !$0.isNewline }, user: user)
    }

    /// Creates the cluster and its database `chatterd` under a temporary name, then renames it.
    func create(with programs: PostgresPrograms) throws(DevelopmentClusterError) {
        let files = FileManager.default
        let parent = String(data.dropLast("/postgres".count))
        for left in (try? files.contentsOfDirectory(atPath: parent)) ?? [] where left.hasPrefix("postgres.partial.") {
            // A server was killed while it created this directory. A directory that cannot be removed does no harm.
            try? files.removeItem(atPath: parent + "/" + left)
        }
        let partial = "\(data).partial.\(getpid())"
        guard mkdir(partial, 0o700) == 0, user.map({ chown(partial, $0.uid, $0.gid) }) ?? 0 == 0 else {
            throw .unusable(partial)
        }
        try run(
            "initdb",
            [programs.path("initdb"), "-A", "trust", "--no-locale", "-E", "UTF8", "-U", "chatterd", "-D", "."],
            in: partial)
        let settings =
            "\n# chatterd: one socket, in this directory, and no port.\nlisten_addresses = ''\nunix_socket_directories = '.'\nport = 5432\n"
        try append(settings, to: partial + "/postgresql.conf")
        try run(
            "creating the database", [programs.path("postgres"), "--single", "-D", ".", "postgres"], in: partial,
            input: "CREATE DATABASE chatterd\n")
        guard rename(partial, data) == 0 else { throw .unusable(data) }
    }

    private func append(_ text: String, to path: String) throws(DevelopmentClusterError) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        defer { close(descriptor) }
        let count = text.withCString { write(descriptor, $0, text.utf8.count) }
        guard count == text.utf8.count else { throw .unusable(path) }
    }

    private func run(
        _ step: String, _ arguments: [String], in directory: String, input: String = ""
    ) throws(DevelopmentClusterError) {
        let result = Subprocess(arguments, as: user, in: directory, input: input).run()
        // The single-user backend ends with 0 after an error.
        guard result.succeeded, !result.output.contains("ERROR:") else {
            throw .failed(step: step, output: result.output)
        }
    }

    /// Starts PostgreSQL and waits until it answers. It has its own session, so that the terminal's Ctrl-C reaches only chatterd.
    func launch(with programs: PostgresPrograms) throws(DevelopmentClusterError) {
        let file = data + "/postgres.log"
        rename(file, file + ".1")
        for attempt in 1... {
            let result = control(programs, ["start", "-t", "\(startTimeout)", "-l", "postgres.log"])
            if result.succeeded { return }
            let output = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            // If only the postmaster was killed, its children need a moment to notice.
            guard output.contains("shared memory block"), attempt < startTimeout / 3 else {
                let tail = output.split(separator: "\n").suffix(5).joined(separator: "\n")
                throw .failed(step: "starting PostgreSQL", output: result.output + tail)
            }
            unlink(file)
            usleep(500_000)
        }
    }

    /// Runs pg_ctl in the data directory. Relative paths keep odd names from the shell that pg_ctl uses.
    func control(_ programs: PostgresPrograms, _ arguments: [String]) -> Subprocess.Result {
        Subprocess([programs.path("pg_ctl")] + arguments + ["-w", "-s", "-D", "."], as: user, in: data).run()
    }

    /// The process of a PostgreSQL that already serves this directory. Waits for one that is starting or stopping.
    func runningPostmaster() throws(DevelopmentClusterError) -> Int32? {
        for _ in 0..<(startTimeout * 20) {
            guard
                let lines = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
                    .split(separator: "\n", omittingEmptySubsequences: false),
                let process = lines.first.flatMap({ Int32($0) }), kill(process, 0) == 0 || errno == EPERM
            else { return nil }
            guard isPostmaster(process) else {
                // Another process has the number now. PostgreSQL would mistake it for a live server and refuse to start.
                unlink(data + "/postmaster.pid")
                unlink(data + "/.s.PGSQL.5432.lock")
                return nil
            }
            if lines.count > 7, lines[7].hasPrefix("ready") { return process }
            usleep(50_000)
        }
        throw .failed(
            step: "waiting for PostgreSQL",
            output: "it neither started nor stopped within \(startTimeout) s; see \(data)/postgres.log")
    }

    /// Whether a process is the postmaster of this directory. PostgreSQL's own user checks it: in a container, root may not inspect
    /// another user's process.
    private func isPostmaster(_ process: Int32) -> Bool {
        let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
        return name == "postgres\n"
            && Subprocess(["test", "/proc/\(process)/cwd", "-ef", data], as: user).run().succeeded
    }

    /// FNV-1a, as hexadecimal digits.
    private static func hash(_ text: String) -> String {
        String(text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}

/// A directory that this program creates for itself.
enum PrivateDirectory {
    /// Creates a directory unless it exists. Returns its path without links and dots.
    static func create(_ path: String) throws(DevelopmentClusterError) -> String {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST, let real = realpath(path, nil) else {
            throw .unusable(path)
        }
        defer { free(real) }
        return String(cString: real)
    }
}
