import ChatterdConfiguration
import Testing

@Suite(.timeLimit(.minutes(30))) struct ConfigurationFileTests {
    @Test func variableIsReadFromAFileWithoutItsLineEnd() throws {
        let configuration = try configuration(
            ["DATABASE_URL_FILE": "/run/secrets/db"], files: ["/run/secrets/db": "postgresql://h/d\n"])
        #expect(configuration.store.database == .conninfo(ConfigurationSecret("postgresql://h/d")))
    }

    @Test(arguments: Setting.allCases)
    func everyVariableIsReadFromAFileToo(_ setting: Setting) {
        #expect(
            problems([setting.fileName: "/absent"]).contains { $0.hasPrefix("\(setting.fileName): /absent cannot") })
    }

    @Test func variableTogetherWithItsFileIsRefused() {
        #expect(
            problems(["CHATTERD_LISTEN": ":1", "CHATTERD_LISTEN_FILE": "/f"], files: ["/f": ":2"]) == [
                "CHATTERD_LISTEN and CHATTERD_LISTEN_FILE are both set: keep one of them"
            ])
    }

    @Test func emptyFileIsRefused() {
        #expect(problems(["CHATTERD_LISTEN_FILE": "/f"], files: ["/f": "\n"]) == ["CHATTERD_LISTEN_FILE: /f is empty"])
    }

    @Test func directoryAndMissingFileCannotBeRead() {
        #expect(ConfigurationFile.read("/") == .failure(.init(reason: "Is a directory")))
        #expect(ConfigurationFile.read("/absent/file") == .failure(.init(reason: "No such file or directory")))
    }

    @Test func endlessFileAndFileWithNULAreRefused() {
        #expect(ConfigurationFile.read("/dev/zero") == .failure(.init(reason: "it is larger than 1MiB")))
        #expect(ConfigurationFile.read("/proc/self/cmdline") == .failure(.init(reason: "it is not UTF-8 text")))
    }
}
