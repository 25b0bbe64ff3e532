import Foundation
import Glibc

/// Finds the programs of the database server: `pg_ctl` and `initdb` are rarely on PATH.
enum PostgresPrograms {
    static func path(_ name: String) -> String {
        for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        return name
    }

    private static let folders: [String] = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let newest = versions.compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }
        return newest + ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"]
    }()
}
