import CChatterdSystem
import ChatterdBasics

/// Memory sizes of the system.
public struct SystemMemory {
    /// Reads a file of the system; `nil` if it is absent.
    typealias Read = (_ path: String) -> String?

    let read: Read
    /// The memory of the machine in bytes.
    let machine: Int

    /// The memory that is available to this process, in bytes: the lowest limit of its control group and the groups around it, or
    /// the memory of the machine.
    var available: Int {
        let limits = groupFiles.compactMap { read($0).flatMap(Self.bytes) }
        return min(limits.min() ?? machine, machine)
    }

    /// The default budget, in bytes.
    public var budget: Int { available / 2 }

    /// The files that may hold a limit, of both versions of control groups. In a container the own group is the root of the visible
    /// tree.
    private var groupFiles: [String] {
        var files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        // Lines `0::/path` of version 2 and `9:memory:/path` of version 1.
        for line in (read("/proc/self/cgroup") ?? "").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isMemory = parts[1].split(separator: ",").contains("memory")
            guard parts[1].isEmpty || isMemory else { continue }
            let root = isMemory ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup"
            let name = isMemory ? "memory.limit_in_bytes" : "memory.max"
            // The limits of the enclosing groups also apply.
            var path = parts[2]
            while !path.isEmpty, path != "/" {
                files.append("\(root)\(path)/\(name)")
                path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
            }
        }
        return files
    }

    /// A limit in bytes; `nil` for `max` and for a number beyond `Int`. Version 1 writes a huge number for no limit.
    private static func bytes(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return Int(digits).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension SystemMemory {
    /// The system that the process runs on.
    public static var current: SystemMemory {
        SystemMemory(
            read: { path in
                if case .success(let text) = ConfigurationFile.read(path) { text } else { nil }
            }, machine: Int(csystem_machine_memory()))
    }
}
