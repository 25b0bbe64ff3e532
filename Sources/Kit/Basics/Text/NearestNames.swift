/// Finds known names with a similar spelling, for "did you mean".
public enum NearestNames {
    /// The compared bytes of a name. A client may send a very long name.
    private static let length = 80
    /// The number of compared known names.
    private static let capacity = 500

    /// The known name with the smallest edit distance, however large that is; `nil` without known names.
    public static func nearest(to name: String, among known: [String]) -> String? {
        ranked(name, known) { _ in .max }.first
    }

    /// The known names with a spelling close to `name`, the closest first.
    ///
    /// - Parameter count: the maximum number of returned names.
    public static func similar(to name: String, among known: [String], atMost count: Int) -> [String] {
        Array(ranked(name, known) { max(2, min(length, $0) / 3) }.prefix(count))
    }

    /// The known names within an edit distance, which depends on the longer name. The list order breaks ties.
    private static func ranked(_ name: String, _ known: [String], within limit: (Int) -> Int) -> [String] {
        let given = Array(name.utf8.prefix(length))
        var ranked: [(name: String, distance: Int)] = []
        for candidate in known.prefix(capacity) {
            let letters = Array(candidate.utf8.prefix(length))
            let longer = max(given.count, letters.count)
            if let distance = editDistance(given, letters, limit: limit(longer)) {
                ranked.append((candidate, distance))
            } else if !given.isEmpty, letters.starts(with: given) {
                // A prefix of known names, such as a name without its tag, matches them.
                ranked.append((candidate, longer))
            }
        }
        return ranked.enumerated().sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }
            .map(\.element.name)
    }

    /// The Levenshtein distance of two names; `nil` if it exceeds the limit.
    private static func editDistance(_ left: [UInt8], _ right: [UInt8], limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            var least = row[0]
            for column in right.indices {
                let replaced = diagonal + (right[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
                least = min(least, row[column + 1])
            }
            guard least <= limit else { return nil }
        }
        return row[right.count] <= limit ? row[right.count] : nil
    }
}
