import Testing

@testable import ChatterdIdentity

@Suite struct ConversationKeyTests {
    @Test func defaultConversationHasTheNameOfTheApp() {
        let key = ConversationKey(Owner(app: "app"))
        #expect(key.text == "app" && key.name == "app" && key.isDefault)
        #expect(ConversationKey(Owner(app: "app"), name: "app") == key)
    }

    @Test func namedConversationHasItsOwnText() {
        let key = ConversationKey(Owner(app: "app"), name: "trip")
        #expect(key.text == "app\u{1F}\u{1F}trip" && !key.isDefault)
    }

    @Test func conversationsOfAPersonHaveTheirOwnTexts() {
        let ada = Owner(app: "app", person: "ada")
        #expect(ConversationKey(ada).text == "app\u{1F}ada\u{1F}")
        #expect(ConversationKey(ada, name: "trip").text == "app\u{1F}ada\u{1F}trip")
        #expect(ConversationKey(ada, name: "app") == ConversationKey(ada))
    }

    @Test(arguments: [
        ConversationKey(Owner(app: "app")), ConversationKey(Owner(app: "app"), name: "trip"),
        ConversationKey(Owner(app: "é "), name: "/"), ConversationKey(Owner(app: "a"), name: "a a"),
        ConversationKey(Owner(app: "a", person: "b")), ConversationKey(Owner(app: "a", person: "b"), name: "c"),
    ])
    func textIsParsed(key: ConversationKey) {
        #expect(ConversationKey(parsing: key.text) == key)
    }

    /// Rows of other programs may have any text.
    @Test(arguments: ["", "app", "a\u{1F}b", "a b"])
    func otherTextIsTheNameOfAnApp(text: String) {
        #expect(ConversationKey(parsing: text) == ConversationKey(Owner(app: text)))
    }

    /// A row of another program may have a text that no key is made with: the key finds that row.
    @Test(arguments: [
        "a\u{1F}\u{1F}a", "a\u{1F}\u{1F}", "a\u{1F}b\u{1F}a", "\u{1F}\u{1F}\u{1E}x", "a\u{1F}b\u{1F}c\u{1F}d",
    ])
    func parsedKeyKeepsItsText(text: String) {
        #expect(ConversationKey(parsing: text).text == text)
    }

    @Test func keysOfDifferentNamesHaveDifferentTexts() {
        let names = ["a", "b", "ab", "a b", " "]
        var texts: Set<String> = []
        for app in names {
            for person in [nil] + names {
                for name in names {
                    texts.insert(ConversationKey(Owner(app: app, person: person), name: name).text)
                }
            }
        }
        #expect(texts.count == names.count * names.count * (names.count + 1))
    }

    @Test func keysOfAnOwnerHaveItsPrefixAndThoseOfOthersDoNot() {
        let owners = [
            Owner(app: "a"), Owner(app: "a", person: "a"), Owner(app: "a", person: "b"), Owner(app: "ab"),
            Owner(app: "ab", person: "a"),
        ]
        for owner in owners {
            for other in owners {
                for name in [nil, "a", "b", "ab"] {
                    let text = ConversationKey(other, name: name).text
                    #expect((text == owner.defaultKey || text.hasPrefix(owner.keyPrefix)) == (owner == other))
                }
            }
        }
    }

    @Test func randomNameHasADigitForEachPartOfItsNumber() {
        #expect(ConversationKey.randomName(of: 0) == "aaaaaaaaaaaa")
        #expect(ConversationKey.randomName(of: 35 + 36 * 25) == "9zaaaaaaaaaa")
        #expect(ConversationKey.randomName() != ConversationKey.randomName())
    }
}
