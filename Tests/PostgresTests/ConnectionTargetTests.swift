import ChatterdPostgres
import Testing

@Suite(.timeLimit(.minutes(30))) struct ConnectionTargetTests {
    @Test(arguments: [
        ("host=db port=5433 user=chat password=secret dbname=chatterd", "host=db port=5433 dbname=chatterd user=chat"),
        ("postgresql://chat:secret@db:5433/chatterd?sslmode=require", "host=db port=5433 dbname=chatterd user=chat"),
        ("host=a,b target_session_attrs=read-write", "host=a,b"),
        ("", "PG* of the environment"),
    ])
    func targetIsDescribedWithoutItsPassword(_ string: String, _ description: String) throws {
        #expect(try ConnectionTarget(string).description == description)
    }

    @Test(arguments: [
        "no connection string of secret", "hots=secret", "postgresql://a:secret@[b", "gssencmode=require",
    ])
    func invalidTargetIsRefusedWithoutQuotingIt(_ string: String) {
        let error = #expect(throws: PostgresError.self) { try ConnectionTarget(string) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.description.contains("secret") == false)
    }
}
