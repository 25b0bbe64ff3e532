import ChatterdBasics
import ChatterdChat

/// `keep_alive` of a request to an Ollama: the time for which a model stays loaded, in seconds as a number, or as a text with a unit (`5m`).
///
/// Programs send the seconds as a text as well, because they read them from a setting. Ollama refuses `"-1"` and `"300"`: a unit is missing.
public enum OllamaKeepAlive {
    /// The limit of the JSON of such a text, in bytes: an integer, its sign and the quotes have fewer.
    private static let maximumLength = 24

    /// The whole number in a text, as JSON; `nil` for any other value, which is passed on as it is.
    public static func number(of json: Span<UInt8>) -> [UInt8]? {
        guard json.count <= maximumLength, let text = (try? JSONSlice(json.array))?.string,
            let number = (try? JSONSlice(Array(text.utf8)))?.wholeNumber
        else { return nil }
        return Array(String(number).utf8)
    }
}

extension [RawMember] {
    /// The members with the number of a `keep_alive` that is a text without a unit.
    var withNumericKeepAlive: [RawMember] {
        map { member in
            guard member.key == "keep_alive", let number = OllamaKeepAlive.number(of: member.value.span) else {
                return member
            }
            return RawMember(key: member.key, value: number)
        }
    }
}
