import ChatterdBasics
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@Suite struct SignedLinkTests {
    private static let code = [UInt8](repeating: 7, count: SignedLink.codeSize)

    static func links() throws -> [SignedLink] {
        let person = Owner(app: "shop", person: "ann")
        return [
            try SignedLink(.reply("r-1"), owner: person, credential: "0123456789abcdef", issuedAt: 1, expiresAt: 2),
            try SignedLink(.conversation("trip"), owner: person, issuedAt: 1, expiresAt: 2),
            try SignedLink(
                .conversation("trip"), owner: person, credential: "0123", session: "4567", issuedAt: 1, expiresAt: 2),
            try SignedLink(.conversation("trip"), owner: Owner(app: "shop"), issuedAt: 1, expiresAt: 2),
            try SignedLink(.reply("trip"), owner: Owner(app: "shop"), issuedAt: -1, expiresAt: .max),
            try SignedLink(.conversation("shop"), owner: Owner(app: "trip"), issuedAt: 1, expiresAt: 2),
        ]
    }

    @Test func textIsReadBack() throws {
        for link in try Self.links() {
            let (read, code) = try SignedLink.parse(link.text(code: Self.code))
            #expect(read == link && code == Self.code)
            #expect(read.authenticatedBytes == link.authenticatedBytes)
        }
    }

    /// The text needs no escapes in a query.
    @Test func textHasCharactersOfAQueryOnly() throws {
        for link in try Self.links() {
            let text = link.text(code: Self.code)
            #expect(
                text.utf8.allSatisfy {
                    $0 == UInt8(ascii: ".") || Base64URL.decode([$0, UInt8(ascii: "A")]) != nil || $0 < 0x80
                })
            #expect(!text.contains { "&=+/%#? ".contains($0) })
        }
    }

    @Test func differentLinksHaveDifferentBytes() throws {
        var all: Set<[UInt8]> = []
        let names = ["a", "ab", "b", "abc", "é"]
        var count = 0
        for app in names {
            for person in [nil] + names.map(Optional.some) {
                for name in names {
                    for target in [SignedLink.Target.reply(name), .conversation(name)] {
                        for (credential, session) in [("", ""), ("a", ""), ("", "a"), ("a", "b")] {
                            let link = try SignedLink(
                                target, owner: Owner(app: app, person: person), credential: credential,
                                session: session, issuedAt: 1, expiresAt: 2)
                            all.insert(link.authenticatedBytes)
                            count += 1
                        }
                    }
                }
            }
        }
        #expect(all.count == count)
        let first = try SignedLink(.reply("a"), owner: Owner(app: "a"), issuedAt: 1, expiresAt: 2)
        #expect(
            first.authenticatedBytes
                != (try SignedLink(.reply("a"), owner: Owner(app: "a"), issuedAt: 2, expiresAt: 2)).authenticatedBytes)
        #expect(
            first.authenticatedBytes
                != (try SignedLink(.reply("a"), owner: Owner(app: "a"), issuedAt: 1, expiresAt: 3)).authenticatedBytes)
    }

    /// A changed text is refused, or has other bytes or another code, so that its code is wrong.
    @Test func changedTextHasOtherBytes() throws {
        for link in try Self.links() {
            let text = Array(link.text(code: Self.code).utf8)
            var generator = SeededGenerator(seed: 3)
            for _ in 0..<500 {
                var other = text
                let index = Int.random(in: text.indices, using: &generator)
                repeat {
                    other[index] = UInt8.random(in: 0x21...0x7E, using: &generator)
                } while other[index] == text[index]
                guard let (read, code) = try? SignedLink.parse(String(decoding: other, as: UTF8.self)) else { continue }
                #expect(read.authenticatedBytes != link.authenticatedBytes || code != Self.code)
            }
        }
    }

    @Test func linkIsValidUntilItsEnd() throws {
        let link = try SignedLink(.reply("r"), owner: Owner(app: "a"), issuedAt: 1, expiresAt: 100)
        try link.check(at: 99)
        for now in [Int64(100), 101, .max] {
            let error = #expect(throws: TokenError.self) { try link.check(at: now) }
            #expect(error?.code == .expired)
        }
    }

    @Test func otherTextIsRefused() throws {
        let text = try Self.links()[0].text(code: Self.code)
        let payload = try #require(text.split(separator: ".").first)
        for other in [
            "", ".", "a", text + ".", text + "A", String(text.dropLast()), "\(payload).", "\(payload)", ".\(payload)",
            "\(payload).AQID",
            "AQ.\(text.split(separator: ".")[1])", " \(text)", "\(text)=",
        ] {
            let error = #expect(throws: TokenError.self, "\(other)") { try SignedLink.parse(other) }
            #expect(error?.code == .malformed)
        }
    }

    /// A payload of another version, of another kind, cut, or with more bytes.
    @Test func otherPayloadIsRefused() throws {
        let bytes = Array(try Self.links()[0].authenticatedBytes.dropFirst("chatterd link\0".utf8.count))
        let parse = { (payload: [UInt8]) in
            try? SignedLink.parse("\(Base64URL.encode(payload)).\(Base64URL.encode(Self.code))")
        }
        #expect(parse(bytes) != nil)
        for count in 0..<bytes.count {
            #expect(parse(Array(bytes.prefix(count))) == nil)
        }
        #expect(parse(bytes + [0]) == nil)
        #expect(parse([2] + bytes.dropFirst()) == nil)
        #expect(parse([1, UInt8(ascii: "x")] + bytes.dropFirst(2)) == nil)
    }

    @Test func longTextIsRefused() {
        let error = #expect(throws: TokenError.self) {
            try SignedLink.parse(String(repeating: "A", count: SignedLink.maximumLength + 1))
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func longestLinkIsRead() throws {
        let owner = Owner(
            app: String(repeating: "\u{1F600}", count: Owner.maximumAppLength),
            person: String(repeating: "\u{1F600}", count: Owner.maximumPersonLength))
        let link = try SignedLink(
            .conversation(String(repeating: "\u{1F600}", count: ConversationKey.maximumNameLength)), owner: owner,
            credential: String(repeating: "c", count: SignedLink.maximumIDLength), issuedAt: 1, expiresAt: 2)
        #expect(try SignedLink.parse(link.text(code: Self.code)).link == link)
    }

    @Test func invalidNamesAreRefused() {
        let person = Owner(app: "a", person: "b")
        for (target, owner) in [
            (SignedLink.Target.reply(""), person), (.reply(String(repeating: "r", count: 65)), person),
            (.conversation(""), person),
            (.conversation("a\u{1F}"), person), (.reply("r"), Owner(app: "")),
            (.reply("r"), Owner(app: "a", person: "")),
            (.reply("r"), Owner(app: "a\n")),
        ] {
            #expect(throws: TokenError.invalidName) { try SignedLink(target, owner: owner, issuedAt: 1, expiresAt: 2) }
        }
        #expect(throws: TokenError.invalidName) {
            try SignedLink(
                .reply("r"), owner: person, credential: String(repeating: "c", count: 65), issuedAt: 1, expiresAt: 2)
        }
    }
}
