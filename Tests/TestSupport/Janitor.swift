import Foundation
import Glibc

/// A helper shell that outlives the process by a moment: when the process ends, however it ends, the shell sees its
/// pipe close, stops the server in its directory and removes the directory.
final class Janitor: Sendable {
    private static let all: Monitor<[(pipe: Int32, pid: pid_t)]> = {
        atexit { Janitor.finish() }
        return Monitor([])
    }()

    init(directory: String) throws {
        // A paused server must go on before it can end; /proc tells its children without the help of procps.
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
        // Nobody reads what it says: the last words of a shell whose parent is gone.
        close(shell.output)
        close(shell.errors)
        Janitor.all.withLock { $0.append((shell.input, shell.pid)) }
    }

    private static func finish() {
        let janitors = all.withLock { $0 }
        for janitor in janitors { close(janitor.pipe) }
        for janitor in janitors { _ = waitForExit(janitor.pid) }
    }
}

/// PostgreSQL refuses root: then the user postgres runs it.
func asDatabaseUser(_ command: [String]) -> [String] {
    guard geteuid() == 0 else { return command }
    return [
        "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "sh", "-c", "cd / && exec \"$@\"", "sh",
    ] + command
}

func runOrThrow(_ command: [String]) throws {
    let result = try run(command)
    guard result.status == 0 else {
        throw TestFailure(
            "\(command.joined(separator: " ")): \(result.errors) \(String(decoding: result.output, as: UTF8.self))")
    }
}

/// A directory directly under /tmp (a unix socket's path has room for 107 bytes), owned by the database user.
func makeTemporaryDirectory() throws -> String {
    var template = Array("/tmp/chatterd-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("no temporary directory") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if geteuid() == 0 {
        guard let user = getpwnam("postgres") else { throw TestFailure("root needs the user postgres for the tests") }
        chown(path, user.pointee.pw_uid, user.pointee.pw_gid)
    }
    return path
}

func readFile(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
}

func children(of parent: pid_t) -> [pid_t] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { pid_t($0) }.filter { pid in
        statistics(of: pid).dropFirst().first.flatMap { pid_t($0) } == parent
    }
}

/// The letter of proc(5) for what a process does; nil when it is gone.
func state(of process: pid_t) -> String? {
    statistics(of: process).first
}

/// What follows a process's name in its line of proc(5): state, parent, and so on.
private func statistics(of process: pid_t) -> [String] {
    guard let line = try? readFile("/proc/\(process)/stat"), let name = line.lastIndex(of: ")") else { return [] }
    return line[name...].split(separator: " ").dropFirst().map(String.init)
}
