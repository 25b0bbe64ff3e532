import Glibc

/// A shell that cleans up after the process. When the process ends, in any way, the shell reads the end of its pipe, stops the database
/// server in its directory and removes the directory.
final class ClusterCleanup: Sendable {
    private static let all: Monitor<[(pipe: Int32, pid: pid_t)]> = {
        atexit { ClusterCleanup.finish() }
        return Monitor([])
    }()

    init(directory: String) throws {
        // A paused server must continue before it can end. /proc lists its children without procps.
        let script = """
            cd / && cat >/dev/null
            if read -r server 2>/dev/null <"$1/data/postmaster.pid"; then
                for process in /proc/[0-9]*; do
                    read -r line 2>/dev/null <"$process/stat" || continue
                    set -- "$1" "$2" ${line##*) }
                    [ "$4" = "$server" ] && kill -CONT "${process#/proc/}"
                done
                kill -CONT "$server"
                "$2" -D "$1/data" -m immediate -w -t 20 stop
            fi
            rm -rf "$1"
            """
        let shell = try spawn(
            asDatabaseUser(["sh", "-c", script, "sh", directory, try PrivateCluster.program("pg_ctl")]),
            environment: plainEnvironment)
        // No process reads the output of a shell whose parent has ended.
        close(shell.output)
        close(shell.errors)
        ClusterCleanup.all.withLock { $0.append((shell.input, shell.pid)) }
    }

    private static func finish() {
        let cleanups = all.withLock { $0 }
        for cleanup in cleanups { close(cleanup.pipe) }
        for cleanup in cleanups { _ = waitForExit(cleanup.pid) }
    }
}
