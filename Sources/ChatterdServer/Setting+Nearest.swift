extension Setting {
    /// The known name that is written most like another one.
    static func nearestName(to name: String) -> String {
        var best = (name: listen.name, distance: Int.max)
        for known in allCases.flatMap({ [$0.name, $0.fileName] }) where known.hasPrefix("CHATTERD_") {
            let distance = editDistance(name, known)
            if distance < best.distance {
                best = (known, distance)
            }
        }
        return best.name
    }

    /// The letters to insert, remove or replace until one name is the other (Levenshtein).
    private static func editDistance(_ left: String, _ right: String) -> Int {
        // The names of an environment are not ours: a very long one need not be measured to its end.
        let left = Array(left.utf8.prefix(80))
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (right[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
