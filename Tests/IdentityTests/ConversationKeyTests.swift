import ChatterdRelay
import Testing

@Suite struct ConversationKeyTests {
    @Test func defaultConversationHasTheNameOfTheApp() {
        let key = ConversationKey(app: "app")
        #expect(key.text == "app" && key.name == "app" && key.isDefault)
        #expect(ConversationKey(app: "app", name: "app") == key)
    }

    @Test func namedConversationHasItsOwnText() {
        let key = ConversationKey(app: "app", name: "trip")
        #expect(key.text == "app\u{1F}\u{1F}trip" && !key.isDefault)
    }

    @Test(arguments: [
        ConversationKey(app: "app"), ConversationKey(app: "app", name: "trip"), ConversationKey(app: "é ", name: "/"),
        ConversationKey(app: "a", name: "a a"),
    ])
    func textIsParsed(key: ConversationKey) {
        #expect(ConversationKey(parsing: key.text) == key)
    }

    /// Rows of other programs may have any text.
    @Test(arguments: ["", "app", "a\u{1F}b", "a b"])
    func otherTextIsTheNameOfAnApp(text: String) {
        #expect(ConversationKey(parsing: text) == ConversationKey(app: text))
    }

    @Test func keysOfDifferentNamesHaveDifferentTexts() {
        let names = ["a", "b", "ab", "a b", "", " "]
        var texts: Set<String> = []
        for app in names {
            for name in names {
                texts.insert(ConversationKey(app: app, name: name).text)
            }
        }
        #expect(texts.count == names.count * names.count)
    }
}
