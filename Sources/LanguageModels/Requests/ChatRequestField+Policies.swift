import ChatterdBasics

extension ChatRequestField {
    /// The value as the policy for a reply without readers: `finish`, `cancel`, or a number of whole seconds.
    func disconnectPolicy() throws(ChatRequestError) -> DisconnectPolicy {
        let wanted = "\"finish\", \"cancel\" or whole seconds from 0 to \(DisconnectPolicy.maximumSeconds)"
        switch try kind() {
        case .string:
            switch try string() {
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

    /// The value as the policy for a reply whose process dies.
    func interruptPolicy() throws(ChatRequestError) -> InterruptPolicy {
        guard let policy = InterruptPolicy(rawValue: try string()) else {
            throw .unknownValue(name, wanted: "\"close\" or \"regenerate\"")
        }
        return policy
    }
}
