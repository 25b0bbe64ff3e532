import ChatterdServer

/// The program `chatterd`: hands its arguments to `ChatterdServer` and ends with the status it returns.
@main
enum Chatterd {
    static func main() async {
    }
}
