import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct IndexedSetTests {
    private final class Item: IndexedSetElement {
        let number: Int
        var setIndex: Int?

        init(_ number: Int) {
            self.number = number
        }
    }

    private let items = (0..<6).map(Item.init)

    private func makeSet() -> IndexedSet<Item> {
        var set = IndexedSet<Item>()
        for item in items { set.insert(item) }
        return set
    }

    /// The numbers of the elements; checks that each element has its index.
    private func numbers(of set: IndexedSet<Item>) -> [Int] {
        #expect(set.elements.map(\.setIndex) == Array(set.elements.indices))
        #expect(set.count == set.elements.count && set.isEmpty == set.elements.isEmpty)
        return set.elements.map(\.number)
    }

    @Test func elementIsInsertedOnceAndRemovedOnce() {
        var set = makeSet()
        var hasChanged = set.insert(items[2])
        #expect(!hasChanged)
        #expect(numbers(of: set) == [0, 1, 2, 3, 4, 5])
        hasChanged = set.remove(items[2])
        #expect(hasChanged)
        hasChanged = set.remove(items[2])
        #expect(!hasChanged)
        #expect(items[2].setIndex == nil)
        #expect(numbers(of: set) == [0, 1, 5, 3, 4])
        hasChanged = set.remove(items[4])
        #expect(hasChanged)
        #expect(numbers(of: set) == [0, 1, 5, 3])
        hasChanged = set.insert(items[2])
        #expect(hasChanged)
        #expect(numbers(of: set) == [0, 1, 5, 3, 2])
    }

    @Test func removalOfMatchesKeepsTheOrderOfTheOthers() {
        var set = makeSet()
        set.removeAll { $0.number % 2 == 0 }
        #expect(numbers(of: set) == [1, 3, 5])
        #expect(items[0].setIndex == nil)
        set.removeAll { _ in true }
        #expect(set.isEmpty)
        let isNew = set.insert(items[1])
        #expect(isNew)
    }

    @Test func elementOfAnotherSetIsNotRemoved() async {
        await #expect(processExitsWith: .failure) {
            let item = Item(1)
            var first = IndexedSet<Item>()
            first.insert(Item(0))
            var second = IndexedSet<Item>()
            second.insert(item)
            first.remove(item)
        }
    }
}
