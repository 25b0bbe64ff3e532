import ChatterdBasics
import Testing

@testable import ChatterdDialects

/// The members of an object, which are found in the same way whether they are few or many.
struct DoorMembersTests {
    /// Members before those of the tests.
    private static let counts = [0, 5, 7, 8, 9, 200]

    private func members(_ count: Int, _ json: String) throws -> DoorMembers {
        let others = (0..<count).map { #""other\#($0)":\#($0),"# }.joined()
        return try #require(try JSONSlice(Array("{\(others)\(json)}".utf8)).members())
    }

    @Test(arguments: counts)
    func lastOfEqualNamesCountsAtThePlaceOfTheFirst(count: Int) throws {
        let members = try members(count, #""a":1,"b":2,"a":3,"c":4"#)
        #expect(members["a"]?.integer == 3)
        #expect(Array(members.names.dropFirst(count)) == ["a", "b", "c"])
        #expect((0..<count).allSatisfy { members["other\($0)"]?.integer == $0 })
        #expect(members["d"] == nil)
    }

    @Test(arguments: counts)
    func nullIsAbsent(count: Int) throws {
        let members = try members(count, #""a":null,"b":2,"b":null,"c":null,"c":3"#)
        #expect(members["a"] == nil)
        #expect(members["b"] == nil)
        #expect(members["c"]?.integer == 3)
        #expect(Array(members.names.dropFirst(count)) == ["c"])
    }

    /// Unicode calls both names equal.
    @Test(arguments: counts)
    func namesAreComparedByTheirBytes(count: Int) throws {
        let members = try members(count, #""é":1,"e\u0301":2"#)
        #expect(members["\u{E9}"]?.integer == 1)
        #expect(members["e\u{301}"]?.integer == 2)
    }
}
