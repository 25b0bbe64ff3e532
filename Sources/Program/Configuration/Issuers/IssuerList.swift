import ChatterdBasics

/// The file of external issuers: a JSON object with the list `issuers`. An app may have several.
public struct IssuerList: Sendable, Equatable {
    /// The limit of issuers.
    public static let maximumIssuers = 1_000

    /// The entries without mistakes.
    public private(set) var issuers: [ExternalIssuer] = []
    /// The mistakes. Each names its entry and the field.
    public private(set) var problems: [String] = []

    /// The pairs of issuer and audience.
    private var pairs: Set<[ExactText]> = []

    /// The prefixes of each app's persons, with the issuer of each.
    private var prefixes: [ExactText: [(prefix: String, issuer: ExactText)]] = [:]

    /// Compares the entries and the mistakes.
    public static func == (left: IssuerList, right: IssuerList) -> Bool {
        left.issuers == right.issuers && left.problems == right.problems
    }

    /// Reads the text of a file.
    public init(_ text: String) {
        let bytes = Array(text.utf8)
        do throws(JSONError) {
            var reader = JSONReader(bytes.span)
            try reader.beginObject()
            var isRead = false
            while let key = try reader.nextKey() {
                guard reader.matches(key, "issuers"), !isRead else {
                    let name = SettingText.excerpt(String(decodingJSON: reader.bytes.extracting(key.range)))
                    problems.append(
                        isRead && name == "issuers"
                            ? "issuers is given twice" : "\"\(name)\" is not a field; there is issuers")
                    try reader.skipValue()
                    continue
                }
                isRead = true
                try readIssuers(&reader)
            }
            try reader.finish()
            if !isRead { problems.append("the list issuers is missing") }
        } catch {
            issuers = []
            problems.append("not a JSON object with the list issuers: \(error)")
        }
    }

    private mutating func readIssuers(_ reader: inout JSONReader) throws(JSONError) {
        var number = 0
        try reader.beginArray()
        while try reader.nextElement() {
            number += 1
            guard number <= Self.maximumIssuers else {
                if number == Self.maximumIssuers + 1 {
                    problems.append("there are more than \(Self.maximumIssuers) issuers")
                }
                try reader.skipValue()
                continue
            }
            let entry = try JSONSlice(copying: &reader)
            guard entry.kind == .object else {
                problems.append("entry \(number) is not an object")
                continue
            }
            append(try IssuerReader(of: entry), number: number)
        }
    }

    private mutating func append(_ entry: IssuerReader, number: Int) {
        let name = entry.app.map { " (\"\(SettingText.excerpt($0))\")" } ?? ""
        problems += entry.problems.map { "entry \(number)\(name): \($0)" }
        guard let issuer = entry.issuer else { return }
        // A token names its issuer and its audience, and these must lead to one app.
        let pair = [ExactText(issuer.issuer), ExactText(issuer.audience)]
        guard pairs.insert(pair).inserted else {
            problems.append("entry \(number)\(name): an earlier entry has the same issuer and audience")
            return
        }
        guard insertPrefix(of: issuer) else {
            let advice = "give each issuer of an app its own person_prefix, such as \"google:\""
            problems.append(
                "entry \(number)\(name): its people could get the names of people of an earlier entry: \(advice)")
            return
        }
        issuers.append(issuer)
    }

    /// Whether no person of an earlier entry of the app can have the name of a person of this one. If one prefix is the beginning of
    /// another, a `sub` can make up for the difference. One issuer names each person the same in all tokens of an app, so its entries may
    /// have one prefix.
    private mutating func insertPrefix(of issuer: ExternalIssuer) -> Bool {
        let new = (prefix: issuer.personPrefix, issuer: ExactText(issuer.issuer))
        let collides = prefixes[ExactText(issuer.app), default: []].contains { old in
            let (a, b) = (old.prefix.utf8, new.prefix.utf8)
            guard a.starts(with: b) || b.starts(with: a) else { return false }
            return old.issuer != new.issuer || !a.elementsEqual(b)
        }
        guard !collides else { return false }
        prefixes[ExactText(issuer.app), default: []].append(new)
        return true
    }
}
