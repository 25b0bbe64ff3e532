import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct PrivateClusterTests {
    @Test func databasesAreEmptyAndSeparate() async throws {
        try await blocking {
            let cluster = try PrivateCluster.shared()
            let (one, two) = (try cluster.makeEmptyDatabase(), try cluster.makeEmptyDatabase())
            try cluster.query("CREATE TABLE t (a text, b text)", database: one)
            #expect(try cluster.query("SELECT * FROM t", database: one) == [])
            try cluster.query("INSERT INTO t VALUES ('line\nbreak', NULL), ('', 'x')", database: one)
            #expect(try cluster.query("SELECT * FROM t", database: one) == [["line\nbreak", "<null>"], ["", "x"]])
            #expect(throws: TestFailure.self) { try cluster.query("SELECT * FROM t", database: two) }
        }
    }

    @Test func databaseCanRefuseWrites() async throws {
        try await blocking {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            try cluster.setReadOnly(true, database: database)
            #expect(throws: TestFailure.self) { try cluster.query("CREATE TABLE t (a text)", database: database) }
            try cluster.setReadOnly(false, database: database)
            try cluster.query("CREATE TABLE t (a text)", database: database)
        }
    }

    @Test func privateClusterStopsPausesAndStartsAgain() async throws {
        try await blocking {
            let cluster = try PrivateCluster.make()
            let database = try cluster.makeEmptyDatabase()
            try cluster.query("CREATE TABLE t (a text)", database: database)
            try cluster.stop(.immediate)
            #expect(throws: TestFailure.self) { try cluster.query("SELECT 1", database: database) }
            try cluster.start()
            let answered = Gate()
            try cluster.pause()
            startThread {
                if (try? cluster.query("SELECT * FROM t", database: database)) == [] { answered.open() }
            }
            #expect(!answered.wait(upTo: 0.2))
            try cluster.resume()
            #expect(answered.wait())
        }
    }
}
