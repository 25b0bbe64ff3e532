import ChatterdBasics
import ChatterdRelay

/// `reasoning` of a request for a response.
struct ResponseReasoning {
    /// `reasoning` as answers repeat it.
    private(set) var repeated = ByteBuffer()
    private var effort: String?

    init(_ members: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        let reasoning = try members.object("reasoning")
        try reasoning?.ignore(allBut: ["effort", "summary"], in: "reasoning.", as: &ignored)
        effort = try reasoning?.string("effort", in: "reasoning.")
        let summary = try reasoning?.string("summary", in: "reasoning.")
        if let effort, OpenAIChat.think(forEffort: effort) == nil {
            throw .unsupported("reasoning.effort", OpenAIChat.efforts)
        }
        if let summary, !["auto", "concise", "detailed"].contains(summary) {
            throw .unsupported("reasoning.summary", "use auto, concise or detailed.")
        }
        repeated.appendJSON { [effort] json in
            json.object { json in
                json.member("effort", orNull: effort)
                json.member("summary", orNull: summary)
            }
        }
    }

    /// Adds the members for the model server.
    func add(to draft: inout RequestDraft) {
        guard let effort, let think = OpenAIChat.think(forEffort: effort) else { return }
        draft.think(Array(think.utf8), askedIn: "reasoning.effort")
        var json = ByteBuffer()
        json.append(jsonString: effort)
        draft.pass("reasoning_effort", json.array)
    }
}
