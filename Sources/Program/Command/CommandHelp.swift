import ChatterdConfiguration

/// The texts of `chatterd help`.
enum CommandHelp {
    /// The commands, for help and after a wrong command.
    static let usage = """
        usage: chatterd <command>

          serve             serve, as the environment says
          serve --dev       serve with a private PostgreSQL under .chatterd/, and the model echo if no other answers
          migrate           bring the database's schema up to date, and end; options: --dry-run (say what would run,
                            and which tables it locks), and --contract (run contractions too: older versions cannot
                            start afterwards)
          doctor            check everything that serving needs, and say what to do about it; options: --json,
                            --chat (a model of each server answers a few words), and
                            --through URL [--model NAME] [--key-file PATH] (measure a stream as clients get it)
          keys create --app NAME
                            make a key for an app, and print it; options: --label TEXT, --scopes chat,read,tokens,admin,
                            --models NAME,…, --expires 30d, --requests-per-minute N, --tokens-per-day N,
                            --concurrent-replies N
          keys list [--app NAME]
                            list the keys, without their secrets
          keys revoke ID    end a key at once
          keys rotate ID [--overlap 1d]
                            make a new key like this one, which stays valid for the overlap
          tools list        list the tools of CHATTERD_TOOLS
          tools test NAME [ARGUMENTS]
                            call a tool as a model would, with a JSON object, and print what the model reads
          health            ask the server that runs here whether it is alive
          health --ready    ask it whether it takes prompts: the database takes writes, and it is not being stopped
          version           print the version
          help              print this
          help variables    list the environment variables
          help limits       list those that bound a size, a count or a time

        Exit codes: 0 done, 1 failed, 2 wrong usage; of doctor: 0 ok, 1 warnings only, 2 a failure.
        """

    /// The text on a topic.
    static func text(_ topic: Command.Topic) -> String {
        switch topic {
        case .commands: usage
        case .limits: list(Setting.allCases.filter(\.entry.isLimit), title: "Limits.")
        case .variables: list(Setting.allCases, title: "Variables.") + "\n\n" + postgresNote
        }
    }

    private static let postgresNote = """
        Without DATABASE_URL, libpq's PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD, PGPASSFILE and so on count.
        """

    private static let forms = """
        Times are written as 500ms, 30s, 5m, 1h, or a bare number of seconds; sizes as 64KiB, 8MiB, 1GiB, or a bare
        number of bytes. Each variable can be given as NAME_FILE too: the path of a file that holds the value.
        """

    private static func list(_ settings: [Setting], title: String) -> String {
        var lines = ["\(title) \(forms)"]
        for group in Setting.Group.allCases {
            let members = settings.filter { $0.entry.group == group }
            guard !members.isEmpty else { continue }
            lines += ["", group.rawValue]
            for setting in members {
                let entry = setting.entry
                var facts = "\(entry.unit), default \(entry.standardText)"
                if let bounds = entry.bounds { facts += ", \(bounds)" }
                lines += ["  \(setting.name)  (\(facts))", "      \(entry.meaning)"]
            }
        }
        return lines.joined(separator: "\n")
    }
}
