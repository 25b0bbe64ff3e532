import ChatterdBasics
import ChatterdChat

/// Ollama's `options` as Llama Stack's `sampling_params`.
struct LlamaStackSampling {
    private var maximumTokens: [UInt8]?
    private var temperature: [UInt8]?
    private var topP: [UInt8]?
    private var topK: [UInt8]?
    private var repetitionPenalty: [UInt8]?
    private var stop: [UInt8]?

    /// Translates options.
    ///
    /// - Throws: `unsupported` for an option without a counterpart, and for options that exclude each other.
    init(options: RawMember) throws(ModelError) {
        let members: [RawMember]
        do throws(JSONError) {
            members = try RawMember.members(of: options.value)
        } catch {
            throw .llamaStack(options.key, "that is no object")
        }
        for member in members where member.value != Array("null".utf8) {
            switch member.key {
            case "num_predict": maximumTokens = Self.number(member.value).map { $0 <= 0 } == true ? nil : member.value
            case "temperature": temperature = member.value
            case "top_p": topP = member.value
            case "top_k": topK = member.value
            case "repeat_penalty": repetitionPenalty = member.value
            case "stop": stop = member.value
            default: throw .llamaStack(member.key)
            }
        }
        if topK != nil, !isGreedy, temperature != nil || topP != nil {
            throw .llamaStack("top_k", "together with \"temperature\" or \"top_p\"")
        }
    }

    /// Whether no option is set.
    var isEmpty: Bool {
        maximumTokens == nil && temperature == nil && topP == nil && topK == nil && repetitionPenalty == nil
            && stop == nil
    }

    /// Whether the model always chooses the most likely token; the other options have no effect then.
    private var isGreedy: Bool { temperature.map { Self.number($0) == 0 } == true }

    /// Writes the members.
    func write(to object: inout JSONWriter) {
        write(strategyTo: &object)
        if let maximumTokens { object.member("max_tokens", raw: maximumTokens.span) }
        if let repetitionPenalty { object.member("repetition_penalty", raw: repetitionPenalty.span) }
        if let stop {
            let list = stop.first == UInt8(ascii: "[") ? stop : Array("[".utf8) + stop + Array("]".utf8)
            object.member("stop", raw: list.span)
        }
    }

    private func write(strategyTo object: inout JSONWriter) {
        guard isGreedy || topK != nil || temperature != nil || topP != nil else { return }
        object.object("strategy") { strategy in
            if isGreedy {
                strategy.member("type", "greedy")
            } else if let topK {
                strategy.member("type", "top_k")
                strategy.member("top_k", raw: topK.span)
            } else {
                strategy.member("type", "top_p")
                // Llama Stack requires the member, although it may be null.
                let temperature = temperature ?? Array("null".utf8)
                strategy.member("temperature", raw: temperature.span)
                if let topP { strategy.member("top_p", raw: topP.span) }
            }
        }
    }

    private static func number(_ json: [UInt8]) -> Double? {
        Double(String(decoding: json, as: UTF8.self))
    }
}
