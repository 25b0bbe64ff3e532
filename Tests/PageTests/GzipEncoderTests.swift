import Foundation
import Testing

@testable import ChatterdPage

/// Compressed bytes, as gzip reads them.
@Suite struct GzipEncoderTests {
    private static let texts: [[UInt8]] = {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let letters = (0..<5000).map { _ in UInt8.random(in: 97...99, using: &generator) }
        let lengths = (1...600).flatMap { length in
            Array(repeating: UInt8(ascii: "a"), count: length) + [UInt8(length % 7)]
        }
        // Matches at the longest distance, and just beyond it.
        let far = [32_767, 32_768, 32_769].flatMap { distance in
            Array("needle".utf8) + Array(repeating: UInt8(0), count: distance - 6) + Array("needle".utf8)
        }
        return [[], [0], [1, 2], Array("abc".utf8), Array(0...255), random, letters, lengths, far]
    }()

    @Test(arguments: texts.indices)
    func gzipReadsTheSameBytes(index: Int) throws {
        try check(Self.texts[index])
    }

    @Test func gzipReadsTheFilesOfThePage() throws {
        for file in PageFiles.all.values {
            #expect(file.compressed.count < max(file.bytes.count, 300), "\(file.name)")
            try check(file.bytes)
        }
    }

    private func check(_ bytes: [UInt8]) throws {
        let gzip = Process()
        let (input, output) = (Pipe(), Pipe())
        gzip.executableURL = URL(fileURLWithPath: "/bin/gzip")
        gzip.arguments = ["-dc"]
        (gzip.standardInput, gzip.standardOutput) = (input, output)
        try gzip.run()
        let compressed = Data(GzipEncoder.encode(bytes))
        Thread.detachNewThread {
            input.fileHandleForWriting.write(compressed)
            try? input.fileHandleForWriting.close()
        }
        let read = try output.fileHandleForReading.readToEnd() ?? Data()
        gzip.waitUntilExit()
        let isSame = Array(read) == bytes
        #expect(isSame && gzip.terminationStatus == 0)
    }
}
