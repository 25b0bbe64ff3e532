import ChatterClient
import ChatterdBasics

/// Reads an answer and shows it. Ctrl-C stops the answer; a second Ctrl-C stops the reading at once.
struct AnswerReader {
    let client: ChatterClient

    /// The outcome of an answer.
    enum Outcome: Equatable {
        case finished(ReplyStatistics)
        /// Ctrl-C stopped it.
        case stopped
        case failed(ChatterError)

        /// The exit code of the program after it.
        var exitCode: ExitCode {
            switch self {
            case .finished(let statistics): statistics.wasStopped ? .interrupted : .done
            case .stopped: .interrupted
            case .failed(let error): ExitCode(error)
            }
        }
    }

    /// An answer with the id of its reply, if the server accepted the prompt.
    struct Answer: Equatable {
        var reply: ReplyID?
        var outcome: Outcome
    }

    /// The state that the handler of Ctrl-C shares.
    private struct State {
        var reply: ReplyID?
        var interrupts = 0
    }

    /// Reads an answer to its end. An error is not shown: the caller decides.
    ///
    /// - Parameters:
    ///   - reply: the reply, if it exists already.
    ///   - question: asks a person about a call that waits for an approval.
    func read<Printer: AnswerPrinter>(
        _ events: AsyncThrowingStream<ReplyEvent, any Error>, _ printer: inout Printer, of reply: ReplyID? = nil,
        question: @escaping @Sendable (ToolStep, ReplyID) async -> Void = { _, _ in }
    ) async -> Answer {
        let state = Lock(State())
        // A task of its own, so that Ctrl-C can end it.
        let reading = Task { [printer] in
            var printer = printer
            let outcome = await Self.outcome(of: events, &printer, reply: reply, question: question) { id in
                state.withLock { $0.reply = id }
            }
            return (outcome, printer)
        }
        let client = client
        let interrupt = { @Sendable in
            let (reply, isFirst) = state.withLock { state in
                state.interrupts += 1
                return (state.reply, state.interrupts == 1)
            }
            guard let reply, isFirst else { return reading.cancel() }
            Task {
                do throws(ChatterError) {
                    try await client.stop(reply)
                } catch {
                    // The answer continues on the server, but its reader wants to leave.
                    reading.cancel()
                }
            }
        }
        var outcome: Outcome
        (outcome, printer) = await Interrupts.shared.handling(interrupt) { await reading.value }
        let end = state.withLock { $0 }
        if case .failed = outcome, end.interrupts > 0 {
            outcome = .stopped
        }
        return Answer(reply: end.reply, outcome: outcome)
    }

    private static func outcome(
        of events: AsyncThrowingStream<ReplyEvent, any Error>, _ printer: inout some AnswerPrinter, reply: ReplyID?,
        question: (ToolStep, ReplyID) async -> Void, started: (ReplyID) -> Void
    ) async -> Outcome {
        var (end, reply): (ReplyStatistics?, ReplyID?) = (nil, reply)
        // After a lost connection a call comes again.
        var shown: [[Int]: ToolStep.State] = [:]
        do {
            for try await event in events {
                if case .started(let id) = event {
                    reply = id
                    started(id)
                }
                if case .step(let step) = event {
                    guard shown.updateValue(step.state, forKey: [step.round, step.index]) != step.state else {
                        continue
                    }
                }
                printer.show(event)
                if case .step(let step) = event, step.state == .asked, let reply { await question(step, reply) }
                if case .finished(let statistics) = event {
                    end = statistics
                }
            }
        } catch {
            return .failed(error as? ChatterError ?? .malformed("\(error)"))
        }
        // A reply that was over before has no further event.
        return .finished(end ?? ReplyStatistics(model: ""))
    }
}
