/// A shell for which there are completions.
enum Shell: String, Equatable {
    case bash, zsh, fish

    /// The script that the shell reads.
    var completions: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: "autoload -U +X bashcompinit && bashcompinit\n\(Self.bashScript)"
        case .fish: Self.fishScript
        }
    }

    // MARK: - bash

    private static var bashScript: String {
        """
        # Completions of chatter.
        _chatter() {
            local word=${COMP_WORDS[COMP_CWORD]} command= index
            for ((index = 1; index < COMP_CWORD; index++)); do
                case ${COMP_WORDS[index]} in
                -*) ;;
                *) command=${COMP_WORDS[index]} && break ;;
                esac
            done
            local words=
            case $command in
            '') words='\(words(of: CommandTable.conversation, and: CommandTable.entries.map(\.name)))' ;;
        \(CommandTable.entries.map(bashCase).joined(separator: "\n"))
            esac
            COMPREPLY=($(compgen -W "$words" -- "$word"))
        }
        complete -o default -F _chatter chatter
        """
    }

    private static func bashCase(_ entry: CommandEntry) -> String {
        switch entry.words {
        case .conversation:
            // The first column of the list is the name; names with spaces are left out.
            return "    \(entry.name)) words=\"\(words(of: entry, and: [])) $(chatter list --names 2>/dev/null)\" ;;"
        case .oneOf(let choices): return "    \(entry.name)) words='\(words(of: entry, and: choices))' ;;"
        case .none, .text, .file:
            let choices = entry.name == "help" ? CommandTable.entries.map(\.name) : []
            return "    \(entry.name)) words='\(words(of: entry, and: choices))' ;;"
        }
    }

    private static func words(of entry: CommandEntry, and choices: [String]) -> String {
        (choices + (entry.options + CommandOption.common).map(\.name)).joined(separator: " ")
    }

    // MARK: - fish

    private static var fishScript: String {
        var lines = ["# Completions of chatter.", "complete -c chatter -f"]
        for entry in CommandTable.entries {
            lines.append(
                "complete -c chatter -n __fish_use_subcommand -a \(entry.name) -d \(quoted(entry.summary))")
        }
        for option in CommandOption.common {
            lines.append(fishOption(option, condition: nil))
        }
        for option in CommandTable.conversation.options {
            lines.append(fishOption(option, condition: "__fish_use_subcommand"))
        }
        for entry in CommandTable.entries {
            let condition = "__fish_seen_subcommand_from \(entry.name)"
            lines += entry.options.map { fishOption($0, condition: condition) }
            switch entry.words {
            case .oneOf(let choices):
                lines.append("complete -c chatter -n '\(condition)' -a \(quoted(choices.joined(separator: " ")))")
            case .conversation:
                lines.append("complete -c chatter -n '\(condition)' -a '(chatter list --names 2>/dev/null)'")
            case .file: lines.append("complete -c chatter -n '\(condition)' -F")
            case .none, .text: break
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func fishOption(_ option: CommandOption, condition: String?) -> String {
        var line = "complete -c chatter"
        if let condition {
            line += " -n '\(condition)'"
        }
        line += " -l \(option.name.dropFirst(2))"
        if let short = option.short {
            line += " -s \(short.dropFirst())"
        }
        return line + (option.value == nil ? "" : " -r") + " -d \(quoted(option.summary))"
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'"))'"
    }
}
