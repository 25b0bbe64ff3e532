import ChatterdBasics
import ChatterdLanguageModels

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

    /// Appends the object.
    func append(to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "{"))
        var members: [RawMember] = []
        if let strategy {
            members.append(RawMember(key: "strategy", value: strategy))
        }
        for (name, value) in [
            ("max_tokens", maximumTokens), ("repetition_penalty", repetitionPenalty),
            ("stop", stop.map { $0.first == UInt8(ascii: "[") ? $0 : Array("[".utf8) + $0 + Array("]".utf8) }),
        ] {
            if let value {
                members.append(RawMember(key: name, value: value))
            }
        }
        buffer.append(members)
        buffer.append(UInt8(ascii: "}"))
    }

    private var strategy: [UInt8]? {
        var text = ByteBuffer()
        if isGreedy {
            text.append("{\"type\":\"greedy\"}")
        } else if let topK {
            text.append("{\"type\":\"top_k\",\"top_k\":")
            text.append(topK)
            text.append(UInt8(ascii: "}"))
        } else if temperature != nil || topP != nil {
            // Llama Stack requires the member, although it may be null.
            text.append("{\"type\":\"top_p\",\"temperature\":")
            text.append(temperature ?? Array("null".utf8))
            if let topP {
                text.append(",\"top_p\":")
                text.append(topP)
            }
            text.append(UInt8(ascii: "}"))
        } else {
            return nil
        }
        return text.array
    }

    private static func number(_ json: [UInt8]) -> Double? {
        Double(String(decoding: json, as: UTF8.self))
    }
}
