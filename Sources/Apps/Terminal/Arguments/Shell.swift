/// A shell for which there are completions.
///
/// Names of conversations are written by others: no script gives them to an expansion (`compgen -W` is one), and each inserts them
/// quoted. A name with a hyphen in front would be an option, so that it is offered behind `--` only.
enum Shell: String, Equatable {
    case bash, zsh, fish

    /// The script that the shell reads.
    var completions: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    // MARK: - bash and zsh

    private static var bashScript: String {
        #"""
        # Completions of chatter.
        _chatter() {
            local word=${COMP_WORDS[COMP_CWORD]} command= hasnames= isover= index name quoted
            local -a candidates
            COMPREPLY=()
            for ((index = 1; index < COMP_CWORD; index++)); do
                case ${COMP_WORDS[index]} in
                --) isover=1 ;;
                -*) ;;
                *) command=${command:-${COMP_WORDS[index]}} ;;
                esac
            done
        \#(cases)
            for name in "${candidates[@]}"; do
                [[ $name == "$word"* && ! ($isover && $name == -*) ]] && COMPREPLY+=("$name")
            done
            [[ $hasnames ]] || return
            while IFS= read -r name; do
                [[ $name && ($isover || $name != -*) ]] || continue
                if [[ $word == [\"\']* ]]; then
                    # In an open quote bash inserts a name as it is.
                    [[ $name == "${word#?}"* && $name != *[!-[:alnum:]_.\ ]* ]] && COMPREPLY+=("$name")
                else
                    printf -v quoted %q "$name"
                    [[ $quoted == "$word"* ]] && COMPREPLY+=("$quoted")
                fi
            done < <(chatter list --names 2>/dev/null)
        }
        complete -o default -F _chatter chatter
        """#
    }

    private static var zshScript: String {
        """
        # Completions of chatter.
        (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
        _chatter() {
            local command= hasnames= isover= index name
            local -a candidates
            for ((index = 2; index < CURRENT; index++)); do
                case ${words[index]} in
                --) isover=1 ;;
                -*) ;;
                *) command=${command:-${words[index]}} ;;
                esac
            done
        \(cases)
            [[ $isover ]] && candidates=("${(@)candidates:#-*}")
            if [[ $hasnames ]]; then
                while IFS= read -r name; do
                    [[ $name && ($isover || $name != -*) ]] && candidates+=("$name")
                done < <(chatter list --names 2>/dev/null)
            fi
            # compadd quotes what it inserts.
            compadd -- "${candidates[@]}" || _default
        }
        compdef _chatter chatter
        """
    }

    /// The choice of the candidates of a command, without names of conversations.
    private static var cases: String {
        let start = words(of: CommandTable.conversation, and: CommandTable.entries.map(\.name))
        let lines = ["case $command in", "'') candidates=(\(start)) ;;"] + CommandTable.entries.map(choice) + ["esac"]
        return lines.map { "    \($0)" }.joined(separator: "\n")
    }

    private static func choice(_ entry: CommandEntry) -> String {
        var choices: [String] = []
        var names = ""
        switch entry.words {
        case .conversation: names = " hasnames=1"
        case .oneOf(let words): choices = words
        case .none, .text, .file: choices = entry.name == "help" ? CommandTable.entries.map(\.name) : []
        }
        return "\(entry.name)) candidates=(\(words(of: entry, and: choices)))\(names) ;;"
    }

    private static func words(of entry: CommandEntry, and choices: [String]) -> String {
        (choices + (entry.options + CommandOption.common).map(\.name)).joined(separator: " ")
    }

    // MARK: - fish

    private static var fishScript: String {
        var lines = [
            """
            # Completions of chatter.
            function __chatter_names
                if contains -- -- (commandline -opc)
                    chatter list --names 2>/dev/null
                else
                    chatter list --names 2>/dev/null | string match -v -- '-*'
                end
            end
            """, "complete -c chatter -f",
        ]
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
                lines.append("complete -c chatter -n '\(condition)' -a '(__chatter_names)'")
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
