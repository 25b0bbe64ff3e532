/// The private PostgreSQL of `serve --dev`: kept under `.chatterd/` between runs, reached by a Unix socket alone.
///
/// Its calls block; it runs before the server serves and after it has drained.
public struct DevelopmentCluster: Sendable {
    /// What libpq connects to.
    public let connectionString: String
    private let lock: DirectoryLock
    private let home: ClusterHome
    private let programs: PostgresPrograms
    private let shortcut: SocketShortcut

    /// Starts the cluster of `directory`, made first if there is none, or takes over one that a killed server left running.
    ///
    /// - Parameter patience: how long PostgreSQL may take to start, in seconds.
    /// - Throws: A sentence that says what to do, also when another server has the same directory.
    public static func start(
        in directory: String, patience: Int = 60, log: (String) -> Void
    ) throws(DevelopmentClusterError) -> DevelopmentCluster {
        let top = try PrivateDirectory.make(directory + "/.chatterd")
        let lock = try DirectoryLock(path: top + "/lock")
        var home = try ClusterHome.choose(in: top, log: log)
        home.patience = patience
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

    private init(lock: DirectoryLock, home: ClusterHome, programs: PostgresPrograms, shortcut: SocketShortcut) {
        self.lock = lock
        self.home = home
        self.programs = programs
        self.shortcut = shortcut
        let host = shortcut.path.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
        connectionString = "host='\(host)' port=5432 dbname=chatterd user=chatterd"
    }

    /// Stops PostgreSQL, at once if it does not stop in 30 s, and lets go of the directory.
    public func stop() {
        if !home.control(programs, ["stop", "-m", "fast", "-t", "30"]).succeeded {
            _ = home.control(programs, ["stop", "-m", "immediate", "-t", "5"])
        }
        shortcut.remove()
        lock.release()
    }
}
