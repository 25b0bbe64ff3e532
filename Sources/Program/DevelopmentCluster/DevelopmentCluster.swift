/// The private PostgreSQL of `serve --dev`. It is kept under `.chatterd/` between runs, and has a Unix socket only.
///
/// Its methods block: they are called before the server serves and after it has drained.
public struct DevelopmentCluster: Sendable {
    /// The conninfo string of its database.
    public let connectionString: String
    /// `nil` for a cluster that another process has started.
    private let lock: DirectoryLock?
    private let home: ClusterHome
    private let programs: PostgresPrograms
    private let shortcut: SocketShortcut

    /// Starts the cluster of `directory`, and creates it if there is none. Uses a cluster that a killed server left running.
    ///
    /// - Parameter startTimeout: the time for PostgreSQL to start, in seconds.
    /// - Throws: an error that says what to do, for example if another server uses the same directory.
    public static func start(
        in directory: String, startTimeout: Int = 60, log: (String) -> Void
    ) throws(DevelopmentClusterError) -> DevelopmentCluster {
        let top = try PrivateDirectory.create(directory + "/.chatterd")
        let lock = try DirectoryLock(path: top + "/lock")
        var home = try ClusterHome.choose(in: top, log: log)
        home.startTimeout = startTimeout
        let programs = try PostgresPrograms.find(version: home.version)
        if home.version == nil {
            log("making a private PostgreSQL in \(home.data)")
            try home.create(with: programs)
        }
        if let running = try home.runningPostmaster() {
            log("using the private PostgreSQL that still runs (process \(running)) in \(home.data)")
        } else {
            try home.launch(with: programs)
        }
        let shortcut = try SocketShortcut(to: home.data)
        return DevelopmentCluster(lock: lock, home: home, programs: programs, shortcut: shortcut)
    }

    /// The cluster of `directory` for a command beside the server: the running one, or else one that this call starts.
    ///
    /// - Throws: as `start`.
    public static func attach(
        in directory: String, log: (String) -> Void
    ) throws(DevelopmentClusterError) -> DevelopmentCluster {
        let top = try PrivateDirectory.create(directory + "/.chatterd")
        let home = try ClusterHome.choose(in: top, log: log)
        guard try home.runningPostmaster() != nil else { return try start(in: directory, log: log) }
        return DevelopmentCluster(
            lock: nil, home: home, programs: try PostgresPrograms.find(version: home.version),
            shortcut: try SocketShortcut(to: home.data))
    }

    private init(lock: DirectoryLock?, home: ClusterHome, programs: PostgresPrograms, shortcut: SocketShortcut) {
        self.lock = lock
        self.home = home
        self.programs = programs
        self.shortcut = shortcut
        let host = shortcut.path.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
        connectionString = "host='\(host)' port=5432 dbname=chatterd user=chatterd"
    }

    /// Stops PostgreSQL, immediately if it does not stop in 30 s, and releases the directory. A cluster of another process keeps running.
    public func stop() {
        defer { shortcut.remove() }
        guard let lock else { return }
        if !home.control(programs, ["stop", "-m", "fast", "-t", "30"]).succeeded {
            _ = home.control(programs, ["stop", "-m", "immediate", "-t", "5"])
        }
        lock.release()
    }
}
