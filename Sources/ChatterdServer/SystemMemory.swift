import CSystem

/// What the system says about memory.
struct SystemMemory {
    /// Reads a file of the system; nil when it is not there.
    typealias Read = (_ path: String) -> String?

    let read: Read
    /// The memory of the machine in bytes.
    let machine: Int

    /// The memory that this process may use, in bytes: the limit of its control group, or of the one around it, or else the
    /// memory of the machine.
    var available: Int {
        let limits = groupFiles.compactMap { read($0).flatMap(Self.bytes) }
        return min(limits.min() ?? machine, machine)
    }

    /// The budget when no other is configured.
    var budget: Int { available / 2 }

    /// The files that may hold a limit: version 2 of control groups, then version 1. In a container the own group is the root of
    /// what can be seen.
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
            // A group is held to the limits of those around it.
            var path = parts[2]
            while !path.isEmpty, path != "/" {
                files.append("\(root)\(path)/\(name)")
                path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
            }
        }
        return files
    }

    /// A limit; nil for `max`, and for version 1's number beyond all memory.
    private static func bytes(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return Int(digits).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension SystemMemory {
    /// The system that the process runs on.
    static var current: SystemMemory {
        SystemMemory(
            read: { path in
                if case .success(let text) = ConfigurationFile.read(path) { text } else { nil }
            }, machine: Int(csystem_machine_memory()))
    }
}
