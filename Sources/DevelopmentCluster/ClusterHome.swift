import FoundationEssentials
import Glibc

/// The data directory of a private cluster and the user that PostgreSQL runs as there.
///
/// The directory appears under its name only once it is complete, so what exists can be started. Its socket lies in it.
struct ClusterHome: Sendable {
    /// Absolute path of the data directory.
    let data: String
    /// The major version that made it; nil while it has to be made.
    let version: String?
    /// Nil: the user of this process.
    private let user: UserID?
    /// How long PostgreSQL may take to start, in seconds.
    var patience = 60

    /// Finds the cluster of `top`, or the place for one: elsewhere when PostgreSQL's user cannot enter `top`.
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
        _ = try PrivateDirectory.make("/var/lib/chatterd-dev")
        _ = try PrivateDirectory.make(elsewhere)
        return try existing(elsewhere + "/postgres")
            ?? ClusterHome(data: elsewhere + "/postgres", version: nil, user: postgres)
    }

    private static func existing(_ data: String) throws(DevelopmentClusterError) -> ClusterHome? {
        var status = stat()
        guard stat(data, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw .unusable(path: data, reason: reason())
        }
        let ours = geteuid()
        guard status.st_uid != 0, ours == 0 || status.st_uid == ours else {
            throw .foreign(data: data, owner: status.st_uid)
        }
        guard let version = try? String(contentsOfFile: data + "/PG_VERSION", encoding: .utf8) else {
            throw .unusable(path: data, reason: "this is no PostgreSQL data directory: move it away to begin anew")
        }
        let user = ours == 0 ? UserID(uid: status.st_uid, gid: status.st_gid) : nil
        return ClusterHome(data: data, version: version.filter { !$0.isNewline }, user: user)
    }

    /// Makes the cluster and its database `chatterd` under another name, then gives it its own.
    func create(with programs: PostgresPrograms) throws(DevelopmentClusterError) {
        let files = FileManager.default
        let parent = String(data.dropLast("/postgres".count))
        for left in (try? files.contentsOfDirectory(atPath: parent)) ?? [] where left.hasPrefix("postgres.partial.") {
            // A leftover of a server killed in this place; if it stays it only takes room.
            try? files.removeItem(atPath: parent + "/" + left)
        }
        let partial = "\(data).partial.\(getpid())"
        guard mkdir(partial, 0o700) == 0, user.map({ chown(partial, $0.uid, $0.gid) }) ?? 0 == 0 else {
            throw .unusable(path: partial, reason: reason())
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
        guard rename(partial, data) == 0 else { throw .unusable(path: data, reason: reason()) }
    }

    private func append(_ text: String, to path: String) throws(DevelopmentClusterError) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        defer { close(descriptor) }
        let count = text.withCString { write(descriptor, $0, text.utf8.count) }
        guard count == text.utf8.count else { throw .unusable(path: path, reason: reason()) }
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

    /// Starts PostgreSQL in a session of its own, so that the terminal's Ctrl-C reaches chatterd alone, and waits until it answers.
    func launch(with programs: PostgresPrograms) throws(DevelopmentClusterError) {
        let file = data + "/postgres.log"
        rename(file, file + ".1")
        for attempt in 1... {
            let result = control(programs, ["start", "-t", "\(patience)", "-l", "postgres.log"])
            if result.succeeded { return }
            let said = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            // After a kill of the postmaster alone its children need a moment to notice.
            guard said.contains("shared memory block"), attempt < patience / 3 else {
                let tail = said.split(separator: "\n").suffix(5).joined(separator: "\n")
                throw .failed(step: "starting PostgreSQL", output: result.output + tail)
            }
            unlink(file)
            usleep(500_000)
        }
    }

    /// Runs pg_ctl in the data directory; relative paths spare the shell that it uses from odd names.
    func control(_ programs: PostgresPrograms, _ arguments: [String]) -> Subprocess.Result {
        Subprocess([programs.path("pg_ctl")] + arguments + ["-w", "-s", "-D", "."], as: user, in: data).run()
    }

    /// The process of a PostgreSQL that already serves this directory, awaited if it is starting or stopping.
    func runningPostmaster() throws(DevelopmentClusterError) -> Int32? {
        for _ in 0..<(patience * 20) {
            guard
                let lines = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
                    .split(separator: "\n", omittingEmptySubsequences: false),
                let process = lines.first.flatMap({ Int32($0) }), kill(process, 0) == 0 || errno == EPERM
            else { return nil }
            guard isPostmaster(process) else {
                // The number went to another process since; PostgreSQL would take that for a live server and refuse.
                unlink(data + "/postmaster.pid")
                unlink(data + "/.s.PGSQL.5432.lock")
                return nil
            }
            if lines.count > 7, lines[7].hasPrefix("ready") { return process }
            usleep(50_000)
        }
        throw .failed(
            step: "waiting for PostgreSQL",
            output: "it neither started nor stopped within \(patience) s; see \(data)/postgres.log")
    }

    /// Asked as PostgreSQL's own user: in a container root may not look at another user's process.
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
