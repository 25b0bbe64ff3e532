import Glibc
import Testing

/// The entry point of the test program. SwiftPM finds it by the name of this file, and then does not search the index for tests of
/// XCTest, of which there are none; so a build of the tests needs no index.
@main
struct XCTMain {
    static func main() async {
        // The runtime of this process has read it. An exit test ends on purpose: its process needs no backtrace, which takes seconds.
        unsetenv("SWIFT_BACKTRACE")
        await Testing.__swiftPMEntryPoint() as Never
    }
}
