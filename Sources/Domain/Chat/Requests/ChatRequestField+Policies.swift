import ChatterdBasics

extension ChatRequestField {
    /// The value as the policy for a reply without readers: `finish`, `cancel`, or a number of whole seconds.
    func disconnectPolicy() throws(ChatRequestError) -> DisconnectPolicy {
        let wanted = "\"finish\", \"cancel\" or whole seconds from 0 to \(DisconnectPolicy.maximumSeconds)"
        switch try kind() {
        case .string:
            switch try word() {
            case "finish": return .finish
            case "cancel": return .cancel(after: .zero)
            default: throw .unknownValue(name, wanted: wanted)
            }
        case .number:
            guard let policy = try integer().flatMap(DisconnectPolicy.init(seconds:)) else {
                throw .unknownValue(name, wanted: wanted)
            }
            return policy
        case let found:
            throw .wrongType(name, wanted: wanted, found: found)
        }
    }

    /// The value as the policy for a prompt that comes while another one is being answered.
    func busyPolicy() throws(ChatRequestError) -> BusyPolicy {
        guard let policy = BusyPolicy(word: try word()) else {
            throw .unknownValue(name, wanted: "\"wait\", \"refuse\", \"stop\" or \"replace\"")
        }
        return policy
    }

    /// The value as the policy for a reply whose process dies.
    func interruptPolicy() throws(ChatRequestError) -> InterruptPolicy {
        guard let policy = InterruptPolicy(word: try word()) else {
            throw .unknownValue(name, wanted: "\"close\" or \"regenerate\"")
        }
        return policy
    }
}
