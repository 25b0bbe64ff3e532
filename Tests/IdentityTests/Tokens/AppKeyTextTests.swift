import ChatterdIdentity
import Testing

@Suite struct AppKeyTextTests {
    private static let text = "chatterd_0123456789abcdef_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

    @Test func keyIsComposed() throws {
        let key = try #require(AppKeyText(id: [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF], secret: Array(0..<32)))
        #expect(key.text == Self.text && key.id == "0123456789abcdef")
        #expect(key.text.utf8.count == AppKeyText.length)
    }

    @Test func keyIsParsed() throws {
        let key = try #require(AppKeyText(parsing: Self.text))
        #expect(key.id == "0123456789abcdef" && key.secret == Array(0..<32) && key.text == Self.text)
    }

    @Test func otherSizesAreRefused() {
        let id = [UInt8](repeating: 1, count: 8)
        let secret = [UInt8](repeating: 1, count: 32)
        #expect(AppKeyText(id: id.dropLast(), secret: secret) == nil)
        #expect(AppKeyText(id: id, secret: secret + [1]) == nil)
        #expect(AppKeyText(id: [], secret: []) == nil)
    }

    @Test(arguments: [
        "", "chatterd_", "sk-none", text + "A", String(text.dropLast()), " " + text, text + "\n", text.uppercased(),
        text.replacing("abcdef", with: "ABCDEF"), text.replacing("0123", with: "012g"),
        text.replacing("_AAEC", with: "-AAEC"),
        text.replacing("AAEC", with: "A+EC"), String(text.dropLast()) + "9",
        text.replacing("chatterd_", with: "chatterc_"),
        text.replacing("AAEC", with: "é"),
    ])
    func otherTextIsRefused(text: String) {
        #expect(AppKeyText(parsing: text) == nil)
    }

    @Test func prefixTellsWhatIsMeantForChatterd() {
        #expect(
            AppKeyText.hasPrefix(Self.text) && AppKeyText.hasPrefix("chatterd_") && AppKeyText.hasPrefix("chatterd_x"))
        for other in ["", "none", "chatterd", "Chatterd_1", " chatterd_1", "sk-chatterd_"] {
            #expect(!AppKeyText.hasPrefix(other))
        }
    }

    @Test func secretIsNotShown() throws {
        let key = try #require(AppKeyText(parsing: Self.text))
        var shown = "\(key) \(String(reflecting: key))"
        dump(key, to: &shown)
        #expect(shown.contains("0123456789abcdef"))
        #expect(!shown.contains("AAEC") && !shown.contains("31"))
    }
}
