import Testing

@testable import ChatterdTerminal

/// The parts in which a file is imported.
struct FilePartsTests {
    /// A line of a size, with its line end.
    private func line(_ size: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(ascii: "a"), count: size - 1) + [UInt8(ascii: "\n")]
    }

    /// All parts of a file that is read in pieces of a size, with the rest as the last one.
    private func parts(of file: [UInt8], in size: Int) -> [[UInt8]] {
        var parts = FileParts()
        var found: [[UInt8]] = []
        for start in stride(from: 0, to: file.count, by: size) {
            if let part = parts.append(Array(file[start..<min(start + size, file.count)])) {
                found.append(part)
            }
        }
        return found + [parts.finish()]
    }

    @Test(arguments: [1_000, 256 << 10, FileParts.size, 3 * FileParts.size])
    func partsAreTheWholeFileAndEndWithALine(size: Int) {
        let lines = [10, FileParts.size - 1, 300_000, FileParts.size / 2, FileParts.size / 2, 77, 3_000_000, 3_000_000]
        let file = lines.flatMap(line) + Array("the rest".utf8)
        let parts = parts(of: file, in: size)
        // By whole parts: without optimisation `joined` takes seconds for so many bytes.
        #expect(parts.reduce(into: []) { $0 += $1 } == file)
        #expect(parts.count > 1)
        #expect(parts.dropLast().allSatisfy { $0.last == UInt8(ascii: "\n") })
    }

    @Test func lineThatIsLongerThanAPartIsOnePart() {
        let long = line(2 * FileParts.size + 5)
        let file = line(10) + long + line(FileParts.size) + line(20)
        #expect(parts(of: file, in: 256 << 10).map(\.count) == [10, long.count, FileParts.size + 20, 0])
    }

    @Test func smallFileIsOnePart() {
        #expect(parts(of: line(10) + line(20), in: 7) == [line(10) + line(20)])
        #expect(parts(of: [], in: 7) == [[]])
    }
}
