import ChatterdCommand
import Glibc

/// The program `chatterd`: hands its arguments to `ChatterdServer`, and ends with the status it returns.
@main
enum Chatterd {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await CommandRunner(actions: .live).run(arguments))
    }
}
