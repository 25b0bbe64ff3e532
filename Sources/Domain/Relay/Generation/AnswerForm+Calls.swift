import ChatterdBasics
import ChatterdChat

// The arguments of calls of tools. Only a tool with `"strict":true` promises that they fit its schema.
extension AnswerForm {
    /// The form of the calls that a request may get; `nil` if it has no tools.
    init?(toolsOf members: [RawMember]) {
        guard let value = members.last(where: { $0.key == "tools" })?.value, value.first == UInt8(ascii: "[") else {
            return nil
        }
        self = .calls(tools: value)
    }

    /// Checks calls of tools, JSON objects with commas between them; `nil` if none of them is checked.
    ///
    /// One schema at a time is in memory. Each call has its part of the steps.
    static func outcome(of calls: [UInt8], tools: [UInt8], steps: Int) -> Outcome? {
        guard let list = (try? JSONSlice([UInt8(ascii: "[")] + calls + [UInt8(ascii: "]")]))?.elements(first: .max),
            let tools = (try? JSONSlice(tools))?.elements(first: .max)
        else { return nil }
        var arguments: [ExactText: [(call: Int, value: [UInt8])]] = [:]
        for (index, call) in list.enumerated() {
            guard let function = call.last("function", .object), let name = function.last("name", .string)?.string
            else {
                continue
            }
            // Some servers send a text in place of an object, or nothing in place of an empty one.
            let value = function.last("arguments", .object) ?? function.last("arguments", .string)
            arguments[ExactText(name), default: []].append((index, value?.bytes ?? Array("{}".utf8)))
        }
        var outcome: Outcome?
        for tool in tools {
            guard let function = tool.last("function", .object), function.last("strict", .boolean)?.boolean == true,
                let name = function.last("name", .string)?.string, let called = arguments[ExactText(name)],
                let schema = function.last("parameters", .object).flatMap({ try? JSONSchema($0.bytes) })
            else { continue }
            let others = outcome?.unchecked ?? []
            outcome = Outcome(unchecked: Array((others + schema.unchecked).prefix(JSONSchema.maximumUnchecked)))
            for (call, value) in called {
                let violation = schema.violation(of: value, steps: steps / list.count)
                guard var violation else { continue }
                violation.pointer = "/tool_calls/\(call)/function/arguments\(violation.pointer)"
                outcome?.violation = violation
                return outcome
            }
        }
        return outcome
    }
}
