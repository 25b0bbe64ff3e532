import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay

/// Hooks whose verdicts the test gives.
final class ScriptedHooks: HookRunner {
    /// A question about an answer.
    final class Question {
        let answer: ReviewedAnswer
        private let completion: (Result<[UInt8]?, RelayError>) -> Void
        fileprivate(set) var isCancelled = false

        init(_ answer: ReviewedAnswer, _ completion: @escaping (Result<[UInt8]?, RelayError>) -> Void) {
            self.answer = answer
            self.completion = completion
        }

        var text: String { String(decoding: answer.text, as: UTF8.self) }

        func allow() { completion(.success(nil)) }
        func replace(_ text: String) { completion(.success(Array(text.utf8))) }
        func refuse(_ reason: String) { completion(.failure(RelayError(.answerRefused, reason))) }
    }

    let memory = MemoryBudget(limit: 1 << 30)
    var reviewsPrompts = false
    var reviewsAnswers = true
    /// The prompts that were reviewed.
    private(set) var prompts: [String] = []
    /// What happens to a prompt.
    var verdict: (String) throws(RelayError) -> String = { $0 }
    private(set) var questions: [Question] = []

    func reviewsPrompts(of app: String) -> Bool { reviewsPrompts }
    func reviewsAnswers(of app: String) -> Bool { reviewsAnswers }

    func review(_ request: ChatRequest, in conversation: ConversationKey) async throws(RelayError) -> [ModelMessage] {
        var changed = request.messages
        for index in changed.indices {
            prompts.append(changed[index].content)
            changed[index].content = try verdict(changed[index].content)
        }
        return changed
    }

    func review(
        _ answer: ReviewedAnswer, completion: @escaping (Result<[UInt8]?, RelayError>) -> Void
    ) -> () -> Void {
        let question = Question(answer, completion)
        questions.append(question)
        return { question.isCancelled = true }
    }
}
