extension ChatterClient {
    /// The answer to a prompt as it grows: a snapshot whenever something has arrived. Like `answer(to:)` it survives lost connections.
    ///
    /// The end of the iteration closes the connection, and does not stop the answer: `Prompt.onDisconnect` decides that, or `stop`.
    ///
    /// - Throws: `ChatterError`, in the iteration. The last snapshot before it has the text so far.
    public func snapshots(of prompt: Prompt) -> AsyncThrowingStream<Answer, any Error> {
        stream { () throws(ChatterError) in AnswerRun(try run(for: prompt)) }
    }

    /// The rest of an answer that was begun before: an app stores a snapshot, or the id of the reply, and continues there.
    ///
    /// - Throws: `ChatterError`, in the iteration; `malformed` if the answer has no `reply`.
    public func snapshots(continuing answer: Answer) -> AsyncThrowingStream<Answer, any Error> {
        stream { () throws(ChatterError) in
            guard let reply = answer.reply else {
                throw .malformed("The answer cannot be continued: the server had not accepted its prompt.")
            }
            return AnswerRun(
                ReplyRun(reading: reply, after: answer.position, app: credential.app, retries: retries),
                continuing: answer)
        }
    }

    /// The whole answer to a prompt.
    public func wholeAnswer(to prompt: Prompt) async throws(ChatterError) -> Answer {
        var last: Answer?
        do {
            for try await answer in snapshots(of: prompt) {
                last = answer
            }
        } catch let error as ChatterError {
            throw error
        } catch {
            throw .cancelled
        }
        guard let last, last.isFinished else {
            throw Task.isCancelled ? .cancelled : .connectionLost("The answer has no end.")
        }
        return last
    }
}
