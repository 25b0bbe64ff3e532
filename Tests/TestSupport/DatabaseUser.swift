import Foundation
import Glibc

/// Runs a command of PostgreSQL as the user postgres if the tests run as root, which PostgreSQL refuses.
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

/// The parent of the directories of clusters. Hundreds of databases have a quarter of a million files, which a disk takes minutes to remove;
/// so they are in memory where there is plenty of it.
private let clusterParent: String = {
    var files = statvfs()
    guard statvfs("/dev/shm", &files) == 0, UInt64(files.f_bavail) * UInt64(files.f_frsize) >= 8 << 30,
        let memory = try? readFile("/proc/meminfo"),
        let line = memory.split(separator: "\n").first(where: { $0.hasPrefix("MemAvailable:") }),
        let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), kibibytes >= 12 << 20
    else { return "/tmp" }
    return "/dev/shm"
}()

/// A directory with a short path (that of a unix socket has at most 107 bytes), owned by the database user.
func makeTemporaryDirectory() throws -> String {
    var template = Array("\(clusterParent)/chatterd-XXXXXX".utf8CString)
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

/// The state letter of a process, from proc(5); `nil` if the process has ended.
func state(of process: pid_t) -> String? {
    statistics(of: process).first
}

/// The fields after the name of a process in its line of proc(5): state, parent, and so on.
private func statistics(of process: pid_t) -> [String] {
    guard let line = try? readFile("/proc/\(process)/stat"), let name = line.lastIndex(of: ")") else { return [] }
    return line[name...].split(separator: " ").dropFirst().map(String.init)
}
