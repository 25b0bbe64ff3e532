import Foundation
import Testing

@testable import ChatterdPage

@Suite struct PageFilesTests {
    @Test func listIsThatOfTheFolder() throws {
        let root = String(#filePath.prefix(upTo: try #require(#filePath.firstRange(of: "/Tests/")).lowerBound))
        let folder = root + "/Sources/Program/Page/Files"
        let files = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
            .filter { $0.contains(".") && $0 != PageFiles.document.name }
        #expect(Set(PageFiles.all.keys) == Set(files))
        for name in files {
            // The difference of two long arrays takes minutes.
            let isSame =
                FileManager.default.contents(atPath: "\(folder)/\(name)").map(Array.init) == PageFiles.all[name]?.bytes
            #expect(isSame, "\(name)")
        }
    }

    @Test func everyFileHasATypeAndATag() {
        for file in PageFiles.all.values {
            #expect(file.contentType != "application/octet-stream", "\(file.name)")
            #expect(file.tag.first == "\"" && file.tag.last == "\"" && file.tag.count > 2)
        }
        #expect(PageFiles.document.contentType == "text/html; charset=utf-8")
        #expect(PageFile("page", []).contentType == "application/octet-stream")
    }

    @Test func otherContentHasAnotherTag() {
        #expect(PageFile("a.js", [1, 2]).tag != PageFile("a.js", [2, 1]).tag)
        #expect(PageFile("a.js", [1, 2]).tag == PageFile("b.js", [1, 2]).tag)
    }
}
