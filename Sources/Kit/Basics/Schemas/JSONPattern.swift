/// A regular expression of a schema (ECMA-262, with the flag `u`), as a program whose states run side by side.
///
/// A search takes a time of the text's length times the number of states, whatever the expression is. Expressions with look-around,
/// back-references and properties other than general categories are not supported.
struct JSONPattern: Sendable {
    /// The limit of the steps of a program; counted repetitions are written out.
    static let maximumSteps = 4_096
    /// The limit of nested groups.
    static let maximumDepth = 32
    /// The limit of an expression, in bytes.
    static let maximumLength = 4_096

    /// A step of the program.
    enum Step: Sendable {
        case scalar(Int)
        case split(Int, Int)
        case jump(Int)
        case start
        case end
        case boundary(Bool)
        case match
    }

    let steps: [Step]
    let sets: [ScalarSet]

    /// Reads an expression; `nil` if it is not supported, or has more steps than allowed.
    init?(_ text: ArraySlice<UInt8>, maximumSteps: Int = JSONPattern.maximumSteps) {
        guard text.count <= Self.maximumLength else { return nil }
        var parser = JSONPatternParser(text)
        guard let tree = parser.parse() else { return nil }
        var steps: [Step] = []
        guard Self.append(tree, to: &steps), steps.count < maximumSteps else { return nil }
        steps.append(.match)
        self.steps = steps
        sets = parser.sets
    }

    /// A part of an expression.
    indirect enum Tree {
        case empty
        case set(Int)
        case assertion(Step)
        case sequence([Tree])
        case choice([Tree])
        /// - Parameter most: `nil` without a limit.
        case repetition(Tree, least: Int, most: Int?)
    }

    /// Appends the steps of a part; `false` beyond the limit.
    private static func append(_ tree: Tree, to steps: inout [Step]) -> Bool {
        guard steps.count < maximumSteps else { return false }
        switch tree {
        case .empty: break
        case .set(let number): steps.append(.scalar(number))
        case .assertion(let step): steps.append(step)
        case .sequence(let parts):
            for part in parts where !append(part, to: &steps) { return false }
        case .choice(let parts):
            var ends: [Int] = []
            for part in parts.dropLast() {
                let split = steps.count
                steps.append(.jump(0))
                guard append(part, to: &steps) else { return false }
                ends.append(steps.count)
                steps.append(.jump(0))
                steps[split] = .split(split + 1, steps.count)
            }
            guard let last = parts.last, append(last, to: &steps) else { return false }
            for end in ends { steps[end] = .jump(steps.count) }
        case .repetition(let part, let least, let most):
            for _ in 0..<least {
                let first = steps.count
                guard append(part, to: &steps) else { return false }
                // A part without steps is the same however often it stands there.
                if steps.count == first { return true }
            }
            guard let most else {
                let split = steps.count
                steps.append(.jump(0))
                guard append(part, to: &steps) else { return false }
                steps.append(.jump(split))
                steps[split] = .split(split + 1, steps.count)
                return true
            }
            var splits: [Int] = []
            for _ in least..<max(least, most) {
                splits.append(steps.count)
                steps.append(.jump(0))
                guard append(part, to: &steps) else { return false }
            }
            for split in splits { steps[split] = .split(split + 1, steps.count) }
        }
        return steps.count < maximumSteps
    }

    // MARK: - Searching

    /// Whether the expression is found in a text in UTF-8; `nil` if that takes more than `budget` steps, which it reduces.
    func isFound(in text: ArraySlice<UInt8>, budget: inout Int) -> Bool? {
        var current = States(count: steps.count)
        var next = States(count: steps.count)
        var scalars = String(decoding: text, as: UTF8.self).unicodeScalars.makeIterator()
        var before: Unicode.Scalar?
        var scalar = scalars.next()
        while true {
            // The expression may begin at each place.
            if add(0, to: &current, before, scalar) { return true }
            budget -= current.list.count + 1
            guard budget >= 0 else { return nil }
            guard let here = scalar else { return false }
            let after = scalars.next()
            for state in current.list {
                if case .scalar(let set) = steps[state], sets[set].contains(here),
                    add(state + 1, to: &next, here, after)
                {
                    return true
                }
            }
            swap(&current, &next)
            next.removeAll()
            (before, scalar) = (here, after)
        }
    }

    /// Adds a state, and those that follow it without a scalar. Returns whether the expression is found.
    private func add(
        _ state: Int, to states: inout States, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?
    ) -> Bool {
        var waiting = [state]
        while let state = waiting.popLast() {
            guard states.insert(state) else { continue }
            switch steps[state] {
            case .match: return true
            case .jump(let target): waiting.append(target)
            case .split(let one, let other):
                waiting.append(other)
                waiting.append(one)
            case .start where before == nil, .end where after == nil: waiting.append(state + 1)
            case .boundary(let isWanted):
                let isBoundary = ScalarSet.isWord(before) != ScalarSet.isWord(after)
                if isBoundary == isWanted { waiting.append(state + 1) }
            case .scalar, .start, .end: break
            }
        }
        return false
    }

    /// The states at a place, each once.
    private struct States {
        private(set) var list: [Int] = []
        private var marks: [Bool]

        init(count: Int) {
            marks = Array(repeating: false, count: count)
        }

        mutating func insert(_ state: Int) -> Bool {
            guard !marks[state] else { return false }
            marks[state] = true
            list.append(state)
            return true
        }

        mutating func removeAll() {
            for state in list { marks[state] = false }
            list.removeAll(keepingCapacity: true)
        }
    }
}

/// A set of Unicode scalars.
struct ScalarSet: Sendable {
    private(set) var ranges: [ClosedRange<UInt32>] = []
    /// The general categories that belong to the set, and those whose complement does.
    var categories: [(names: [Unicode.GeneralCategory], isNegated: Bool)] = []
    var isNegated = false

    static let digits = ScalarSet([0x30...0x39])
    static let words = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    /// White space and line ends of ECMA-262 (sections 12.2 and 12.3).
    static let spaces = ScalarSet([
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
    /// What `.` does not match.
    static let lineEnds = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])

    init(_ ranges: [ClosedRange<UInt32>] = []) {
        self.ranges = ranges
    }

    var negated: ScalarSet {
        var other = self
        other.isNegated.toggle()
        return other
    }

    mutating func insert(_ range: ClosedRange<UInt32>) { ranges.append(range) }

    /// Adds a set that has no categories or is not negated.
    mutating func formUnion(_ other: ScalarSet) {
        guard other.isNegated else {
            ranges += other.ranges
            // Each once, so that a search in them does not grow with the expression.
            for one in other.categories where !categories.contains(where: { $0 == one }) { categories.append(one) }
            return
        }
        var first: UInt32 = 0
        for range in other.ranges {
            if range.lowerBound > first { ranges.append(first...(range.lowerBound - 1)) }
            first = range.upperBound + 1
        }
        ranges.append(first...0x10FFFF)
    }

    /// Sorts and joins the ranges, so that they are searched in logarithmic time.
    mutating func normalize() {
        var joined: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        ranges = joined
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let index = ranges[...].partition { $0.upperBound < scalar.value }
        let isInside =
            index < ranges.count && ranges[index].contains(scalar.value)
            || categories.contains { $0.names.contains(scalar.properties.generalCategory) != $0.isNegated }
        return isInside != isNegated
    }

    static func isWord(_ scalar: Unicode.Scalar?) -> Bool { scalar.map(words.contains) ?? false }
}
