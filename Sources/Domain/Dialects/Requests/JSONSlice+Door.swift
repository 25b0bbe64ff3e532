import ChatterdBasics

extension JSONSlice {
    /// The elements of an array; `nil` for another value and for more elements than the limit.
    func elements(atMost limit: Int = DoorMembers.maximumMembers) -> [JSONSlice]? {
        guard let elements = elements(first: limit + 1), elements.count <= limit else { return nil }
        return elements
    }

    /// The members of an object; `nil` for another value and for more members than the limit.
    func members(atMost limit: Int = DoorMembers.maximumMembers) -> DoorMembers? {
        guard let list = members(first: limit + 1), list.count <= limit else { return nil }
        return DoorMembers(list)
    }
}
