import ChatterdBasics
import ChatterdChat

extension GenerationRun {
    /// An event of the run.
    enum Event {
        /// The candidates, by their numbers.
        case candidates([FailoverPlan.Candidate])
        /// The back-off is over.
        case backedOff
        /// The text that the next server continues.
        case text([UInt8])
        /// The prompt fits the server's context.
        indirect case fitted(PromptReport)
        /// Even the shortest prompt does not fit.
        indirect case tooLong(ModelError)
        /// The server has been removed, or no longer has the model.
        case removed
        /// The reply has a slot of the server, or the server needs none.
        case slotAcquired
        /// The description of the server has changed while the reply waited for a slot.
        case changed
        /// The request is sent.
        case sent
        /// The server works: a line was held, the answer ended, or the reply was cancelled.
        case progressed
        /// The held lines are appended.
        case replayed
        /// The store has restarted the reply.
        case restarted
        /// The end of the request is recorded.
        case judged
        /// The hooks have seen the answer, and the reply has it.
        case reviewed
        /// The calls of tools have results; `asksAgain` says whether the model gets them now.
        case ranTools(asksAgain: Bool)
        /// The answer is checked; `nil` if it has the form that the request asks for.
        indirect case checked(JSONSchemaViolation?)
        /// The estimates have learned from a refused prompt, whose report this is.
        indirect case learned(PromptReport)
        /// The request is abandoned.
        case abandoned
        /// An action failed.
        indirect case failed(RelayError)
    }

    /// The next action.
    enum Action {
        /// List the servers of the model. `candidates` follows.
        case listCandidates(withContexts: Bool)
        /// Back off; `isForRestart` says whether a server may be restarting. `backedOff` follows.
        case backOff(Duration, isForRestart: Bool)
        /// Read the text of the reply, which the next server continues. `text` follows.
        case readText
        /// Fit the conversation to a server. `fitted`, `tooLong` or `removed` follows.
        case fit(Int)
        /// Wait for a slot of the server. `slotAcquired` or `changed` follows.
        case acquireSlot
        /// Send the prompt. `sent` follows.
        case send
        /// Wait until the server makes progress. `progressed` follows.
        case wait
        /// Restart the reply in the store, and reset the readers. `restarted` follows.
        case restart
        /// Append the lines that were held during the restart. `replayed` follows.
        case replay([[UInt8]])
        /// Record the end of the request. `judged` follows.
        case judge(Verdict)
        /// Ask the hooks about the complete answer, and append it. `reviewed` follows.
        case review
        /// Run the tools that the answer calls. `ranTools` follows.
        case runTools
        /// Check whether the complete answer has the form that the request asks for. `checked` follows.
        case check
        /// Learn the size of the context from the server's error. `learned` follows.
        indirect case learn(ModelError)
        /// Abandon the request. `abandoned` follows.
        case abandon
        /// The answer is complete, with this last line; `refused` is a prompt that a server probably found too long.
        indirect case complete([UInt8], refused: PromptReport?)
        /// The reply fails. `blamesServers` says whether failures count for which the request could have been at fault.
        indirect case fail(RelayError, blamesServers: Bool)
        /// The reply fails, because no server could be asked.
        case failWithoutServer(wasRemoved: Bool)
    }

    /// The verdict on the server after a request.
    enum Verdict: Equatable {
        /// The server answered, or refused a request that no server could fulfil.
        case answered
        /// The request gives no information about the server.
        case unknown
        /// Either the server or the request is at fault.
        indirect case suspected(ModelError)
        /// The server failed.
        indirect case failed(ModelError)
    }

    /// The treatment of a line of the answer.
    enum LineAction: Equatable {
        /// Append the line to the reply.
        case append
        /// Append the line without its text.
        case appendWithoutText
        /// Append this text, and then the line without its own text if `hasMore`.
        case appendText([UInt8], hasMore: Bool)
        /// The line is dropped or held.
        case none
        /// The line is held; continue with `progressed`.
        case proceed
        /// Cancel the request, which has failed, and continue with `progressed`.
        case cancel
    }
}
