import ChatterdConfiguration

/// Reads an environment, with these files.
func configuration(
    _ environment: [String: String], files: [String: String] = [:],
    database: Configuration.DatabaseNeed = .optional
) throws(ConfigurationError) -> Configuration {
    try Configuration(environment: environment, database: database) { path in
        files[path].map { .success($0) } ?? .failure(.init(reason: "No such file or directory"))
    }
}

/// The problems of an environment.
func problems(
    _ environment: [String: String], files: [String: String] = [:],
    database: Configuration.DatabaseNeed = .optional
) -> [String] {
    do {
        _ = try configuration(environment, files: files, database: database)
        return []
    } catch {
        return error.problems
    }
}
