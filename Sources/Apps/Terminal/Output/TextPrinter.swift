import ChatterClient
import ChatterdBasics

/// Writes the text of an answer to standard output, and all else to standard error.
struct TextPrinter: AnswerPrinter {
    /// The limit of the result of a call on its line, in bytes.
    private static let longestResult = 300

    private let console: Console
    private let showsThinking: Bool
    /// Whether the last character of the output was a line end, or there was none yet.
    private var isAtLineStart = true
    private var isThinking = false
    private var queue: QueuePosition?
    /// Whether the server has accepted the prompt.
    private var hasStarted = false

    /// - Parameters:
    ///   - showsThinking: whether the model's thinking is shown, dimmed.
    ///   - hasStarted: whether the reply existed before.
    init(_ console: Console, showsThinking: Bool, hasStarted: Bool = false) {
        self.console = console
        self.hasStarted = hasStarted
        self.showsThinking = showsThinking
    }

    mutating func show(_ event: ReplyEvent) {
        switch event {
        case .started: hasStarted = true
        case .text(let text):
            endThinking()
            console.write(foreign: text)
            isAtLineStart = text.hasSuffix("\n")
        case .thinking(let text):
            guard showsThinking else { return }
            isThinking = true
            // Thinking is no part of the answer, so that a pipe does not get it.
            if console.isTerminal {
                console.write(foreign: text, .dim)
                isAtLineStart = text.hasSuffix("\n")
            } else {
                console.note(text, .dim)
            }
        case .toolCalls(let calls):
            for call in calls {
                note("[the model calls \(call.function.name)(\(call.function.arguments?.text ?? ""))]")
            }
        case .step(let step): show(step)
        case .queued(let place):
            if queue != place {
                note("waiting for \(place.upstream): position \(place.position) of \(place.length)")
            }
            queue = place
        case .reset: note("the answer begins again")
        case .connectionLost(let error, let delay):
            let tenths = Int((delay / .milliseconds(100)).rounded())
            let problem = hasStarted ? "connection lost; resuming" : "no connection; next try"
            note("\(problem) in \(tenths / 10).\(tenths % 10) s: \(error.message)")
        case .resumed: note("connection restored")
        case .finished(let statistics): finish(statistics)
        }
    }

    /// One line for a call that runs or waits for an approval, and one for a call without its result.
    private mutating func show(_ step: ToolStep) {
        let call = "\(step.name)(\(step.arguments?.text ?? "…"))"
        switch step.state {
        case .running: note("[the server runs \(call)]")
        case .asked: note("[\(call) waits for an approval]")
        case .failed, .refused, .unknown:
            let line = (step.result ?? "").utf8.prefix { $0 != UInt8(ascii: "\n") }.prefix(Self.longestResult)
            note("[\(step.name): \(String(decoding: line, as: UTF8.self))]")
        default: break
        }
    }

    mutating func fail(_ error: ChatterError) {
        endLine()
        console.report(error)
    }

    private mutating func finish(_ statistics: ReplyStatistics) {
        endThinking()
        endLine()
        if statistics.wasStopped {
            console.note("[stopped]", .dim)
        } else if statistics.reason == "length" {
            console.note("[the answer has reached its length limit]", .dim)
        }
    }

    private mutating func endThinking() {
        guard isThinking else { return }
        isThinking = false
        if console.isTerminal, !isAtLineStart {
            console.writeLine()
            isAtLineStart = true
        }
    }

    /// Ends the line of the output. A pipe gets a line end too, so that the next line of a file begins at its start.
    private mutating func endLine() {
        guard !isAtLineStart else { return }
        console.writeLine()
        isAtLineStart = true
    }

    /// Writes a remark between the pieces of the answer, which continues on a new line of a terminal.
    private mutating func note(_ text: String) {
        endThinking()
        if console.isTerminal {
            endLine()
        }
        console.note(text, .yellow)
    }
}
