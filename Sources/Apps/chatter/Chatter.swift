import ChatterdTerminal
import Glibc

/// The program `chatter`: runs the command of its arguments, and exits with its status.
@main
enum Chatter {
    static func main() {
        var environment: [String: String] = [:]
        var variable = environ
        while let text = variable.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            environment[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
            variable += 1
        }
        TerminalProgram.main(Array(CommandLine.arguments.dropFirst()), environment: environment)
    }
}
