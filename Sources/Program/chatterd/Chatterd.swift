import ChatterdCommand
import Glibc

/// The program `chatterd`: runs the command of its arguments, and exits with its status.
@main
enum Chatterd {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await CommandRunner(actions: .live).run(arguments))
    }
}
