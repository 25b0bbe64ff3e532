extension Configuration {
    /// PostgreSQL, and the retention of its data.
    public struct Store: Sendable, Equatable {
        public var database = Database.notGiven
        /// Connections of each shard.
        public var connections = 4
        /// Timeout of one batch of statements, and of its wait for a connection.
        public var timeout = Duration.seconds(10)
        /// Batches that may wait for a connection.
        public var maximumWaiting = 20_000
        /// Batches on one connection that have no answer yet. No setting: tests keep requests from waiting behind a slow commit.
        package var pipelineDepth = 16
        /// Time for which the start waits for PostgreSQL.
        public var startTimeout = Duration.seconds(60)
        /// Bytes of a history that is sent to a model server.
        public var historyLimit = 64 << 20
        /// Bytes of the histories that the process keeps in memory; 0 for none.
        public var historyCache = 256 << 20
        /// Bytes of a conversation.
        public var conversationLimit = 1 << 30
        /// Bytes of the attachments of an app; 0 for no limit.
        public var attachmentsLimit = 10 << 30
        /// The size limit of the text of an app, in bytes; 0 for none.
        public var textLimit = 100 << 30
        /// The size limit of the text of a person, in bytes; 0 for none.
        public var personTextLimit = 10 << 30
        /// Rows of the chat board in one response.
        public var boardLimit = 1_000
        /// Time for which an `Idempotency-Key` is kept.
        public var keyLifetime = Duration.seconds(24 * 3_600)
        /// The age of its last turn at which a conversation is removed; `nil` to keep all.
        public var retention: Duration?
    }

    /// A database.
    public enum Database: Sendable, Equatable {
        /// The one of a libpq URL or conninfo string.
        case conninfo(ConfigurationSecret)
        /// The one that libpq's own `PG*` variables name.
        case libpqEnvironment
        /// The private cluster of `serve --dev`.
        case privateCluster
        /// None: only for the commands that do not need one.
        case notGiven
    }
}

extension Configuration.Store {
    mutating func setConninfo(_ text: String) throws(SettingProblem) {
        guard Conninfo.isPlausible(text) else {
            throw SettingProblem(
                "neither a URL such as postgresql://user@host:5432/name nor a conninfo string such as "
                    + "\"host=localhost dbname=name\"")
        }
        database = .conninfo(ConfigurationSecret(text))
    }
}
