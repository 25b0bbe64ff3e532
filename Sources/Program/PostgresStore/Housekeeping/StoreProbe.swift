import ChatterdPostgres
import ChatterdRelay

/// Finds out that a database which has refused to store something stores again: while `/readyz` says 503, a balancer sends no prompt that could
/// find it out.
public enum StoreProbe {
    /// The size of what is stored and removed again, in bytes: more than a page of a table, and not compressed.
    private static let size = 64 << 10

    /// Stores something if the server of a pool has refused a batch for lack of resources.
    ///
    /// - Parameter lease: that of this process, whose probes have its name.
    static func run(_ pool: PostgresPool, _ lease: ProcessLease) async {
        guard pool.health.refusal != nil else { return }
        do throws(PostgresError) {
            try await store(in: pool, as: lease.id)
            pool.health.stored()
        } catch {
            // The next one tries again.
        }
    }

    /// Stores something that needs space, and removes it: in a new table, unless the role may not make one, and in an old one.
    ///
    /// - Parameter name: one that no other probe has.
    public static func store(in pool: PostgresPool, as name: ReplyID) async throws(PostgresError) {
        do throws(PostgresError) {
            try await storeInNewTable(pool)
        } catch  where error.code == .insufficientPrivilege {
            // The old one has to do.
        }
        var transaction = Transaction()
        transaction.add(Query(store, .uuid(name), .int8(size)))
        transaction.add(Query(remove, .uuid(name)))
        _ = try await pool.run(transaction)
    }

    /// Makes a table with something in it, and removes it: removed rows leave space in old tables where the disk has none.
    public static func storeInNewTable(_ pool: PostgresPool) async throws(PostgresError) {
        _ = try await pool.run(Query(storeInNewTable))
    }

    private static let storeInNewTable = Statement(
        "probe_table",
        sql: """
            DO $$
            BEGIN
                CREATE TABLE chatterd_probe (content text);
                ALTER TABLE chatterd_probe ALTER content SET STORAGE EXTERNAL;
                INSERT INTO chatterd_probe VALUES (repeat('x', \(size)));
                DROP TABLE chatterd_probe;
            END
            $$
            """)
    private static let store = Statement(
        "probe_store", .uuid, .int8,
        sql: """
            INSERT INTO chatterd_attachments (app, digest, content)
            VALUES ('', uuid_send($1), repeat('x', $2::integer))
            """)
    private static let remove = Statement(
        "probe_remove", .uuid,
        sql: """
            DELETE FROM chatterd_attachments WHERE app = '' AND digest = uuid_send($1)
            """)
}
