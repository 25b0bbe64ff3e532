import ChatterdConfiguration
import Testing

@Suite(.timeLimit(.minutes(30))) struct ConfigurationDatabaseTests {
    @Test func missingDatabaseIsReportedWithAdvice() {
        let found = problems([:], database: .required)
        #expect(found.count == 1)
        #expect(found.first?.contains("DATABASE_URL") == true && found.first?.contains("serve --dev") == true)
    }

    @Test func developmentUsesThePrivateClusterByDefault() throws {
        #expect(try configuration([:], database: .privateClusterIfAbsent).store.database == .privateCluster)
        #expect(
            try configuration(["DATABASE_URL": "postgres://h/d"], database: .privateClusterIfAbsent).store.database
                == .conninfo(ConfigurationSecret("postgres://h/d")))
    }

    @Test(arguments: ["PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"])
    func variablesOfLibpqNameTheDatabaseWithoutAURL(_ name: String) throws {
        #expect(try configuration([name: "x"], database: .required).store.database == .libpqEnvironment)
    }

    @Test func refusedDatabaseIsNotQuoted() {
        let found = problems(["DATABASE_URL": "hunter2@localhost"], database: .required)
        #expect(found.count == 1)
        #expect(found.first?.contains("hunter2") == false)
    }

    @Test(arguments: [
        ("postgresql://u:p%40ss@h1:1,h2:2/d?target_session_attrs=read-write", ["p%40ss", "p@ss"]),
        ("host=h password='a b' sslpassword=c", ["a b", "c"]), ("postgres://h/d?password=x&user=y", ["x"]),
        ("postgres://u@h/d", []), ("host=h dbname=d", []),
    ])
    func passwordsAreFoundInEveryForm(_ text: String, passwords: [String]) throws {
        let secrets = try configuration(["DATABASE_URL": text]).secrets
        for password in passwords {
            #expect(secrets.contains(password), "\(secrets)")
        }
        #expect(secrets.count >= passwords.count + 1)
    }
}
