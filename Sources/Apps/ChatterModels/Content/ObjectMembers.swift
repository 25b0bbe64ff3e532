import ChatterdBasics

/// The members of an object that is being read: each name once, with its last value. A member costs the same in an object of any size.
struct ObjectMembers: Sendable {
    /// Up to so many members, names are compared one by one.
    static let searchLimit = 16

    private(set) var members: [StructuredContent.Member] = []
    /// The places of all names, in an object of more members.
    private var places: [ExactText: Int] = [:]

    /// Adds a member, or replaces the value of the member of this name. Names are equal if their bytes are.
    mutating func set(_ name: String, to value: StructuredContent) {
        if let place = place(of: name) {
            members[place].value = value
            return
        }
        members.append(StructuredContent.Member(name, value))
        if members.count == Self.searchLimit + 1 {
            for (place, member) in members.enumerated() {
                places[member.name] = place
            }
        } else if members.count > Self.searchLimit {
            places[name] = members.count - 1
        }
    }

    /// The members, with another one that has begun.
    func with(_ name: String, _ value: StructuredContent) -> [StructuredContent.Member] {
        var members = members
        if let place = place(of: name) {
            members[place].value = value
        } else {
            members.append(StructuredContent.Member(name, value))
        }
        return members
    }

    private func place(of name: String) -> Int? {
        members.count > Self.searchLimit ? places[name] : members.firstIndex { $0.name == name }
    }
}
