import ChatterdBasics
import ChatterdChat

/// The failures of a reply's model servers, as far as they decide which server is next. Servers have the numbers of the choices.
struct FailoverRecord {
    /// The delays before a server is asked again.
    private static var backoff: Backoff { Backoff(first: .milliseconds(250), longest: .seconds(4)) }

    /// The number of further requests to each server.
    var asked: [Int: Int] = [:]
    /// The `Retry-After` of each server's last error.
    var retryAfter: [Int: Duration] = [:]
    /// The servers that are not asked again.
    var excluded: Set<Int> = []
    /// The servers that have stalled or timed out.
    var stalled: Set<Int> = []
    /// The servers that were asked to continue the text and could not.
    var cannotContinue: Set<Int> = []
    /// The errors about the request, each with the first server that gave it.
    var complaints: [ExactText: Int] = [:]
    /// The error of the last break.
    var lastBreak: ModelError?
    /// The delays before a repeated request.
    var pauses = backoff
    /// The servers that may be restarting.
    var restarting: Set<Int> = []
    /// The deadline for servers that may be restarting.
    var waitEnd: Instant?
    /// The delays between the requests to servers that may be restarting.
    var waits = backoff
}
