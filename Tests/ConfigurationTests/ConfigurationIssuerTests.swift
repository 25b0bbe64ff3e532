import ChatterdConfiguration
import Testing

@Suite struct ConfigurationIssuerTests {
    private static let full =
        #"{"issuers":[{"app":"shop","issuer":"https://a.example","audience":"c","jwks_url":"https://a.example/jwks"}]}"#

    @Test func issuersAreGivenAsTextOrFile() throws {
        let files = ["/i.json": Self.full]
        #expect(try configuration([:]).access.issuers.isEmpty)
        #expect(try configuration(["CHATTERD_ISSUERS": Self.full]).access.issuers.map(\.app) == ["shop"])
        #expect(try configuration(["CHATTERD_ISSUERS": "/i.json"], files: files).access.issuers.count == 1)
        #expect(try configuration(["CHATTERD_ISSUERS_FILE": "/i.json"], files: files).access.issuers.count == 1)
    }

    @Test(arguments: [
        ("[]", "CHATTERD_ISSUERS: not a JSON object: it begins with {"),
        (
            "/absent",
            "CHATTERD_ISSUERS: neither a JSON object nor the path of a readable file: No such file or directory"
        ),
        ("{}", "CHATTERD_ISSUERS: the list issuers is missing"),
        (#"{"issuers":[7]}"#, "CHATTERD_ISSUERS: entry 1 is not an object"),
    ])
    func mistakeIsReported(text: String, problem: String) {
        #expect(problems(["CHATTERD_ISSUERS": text]) == [problem])
    }

    @Test func examplesOfTheDocumentAreRead() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        let document = try ConfigurationFile.read(root + "/docs/issuers.md").get()
        let examples = document.matches(of: /```json\n((?:.|\n)*?)```/).map { String($0.1) }
        #expect(examples.count == 6)
        for example in examples {
            #expect(try configuration(["CHATTERD_ISSUERS": example]).access.issuers.isEmpty == false)
        }
    }

    /// A URL may hold a key in its query.
    @Test func issuersAreNotShown() throws {
        let given = try configuration(["CHATTERD_ISSUERS": Self.full]).given
        #expect(given.map(\.shown) == ["(secret)"])
    }
}
