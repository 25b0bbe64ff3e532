import ChatterdPage
import ChatterdTestSupport
import Testing

@testable import ChatterdConfiguration
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `GET /` for browsers, and the files of the page.
@Suite(.timeLimit(.minutes(30))) struct PageRouteTests {
    private static let browser = ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")

    @Test func browserGetsThePageAndOthersTheIdentity() async throws {
        try await onStage { stage in
            let page = try RawClient.get(port: stage.port, "/", fields: [Self.browser])
            #expect(page.status == 200)
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
            #expect(page.text.hasPrefix("<!doctype html>"))
            for accept in ["*/*", "application/json", "text/event-streaming"] {
                let identity = try RawClient.get(port: stage.port, "/", fields: [("Accept", accept)])
                #expect(identity.text == "\"chatterd \(Version.current)\"\n")
            }
            let bare = try RawClient.get(port: stage.port, "/")
            #expect(bare.text.contains("chatterd \(Version.current)"))
        }
    }

    @Test func pagePermitsNothingOfOthers() async throws {
        try await onStage { stage in
            let page = try RawClient.get(port: stage.port, "/", fields: [Self.browser])
            #expect(
                page["Content-Security-Policy"]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                    + "img-src 'self' data: blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
                    + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
            #expect(page["Referrer-Policy"] == "no-referrer")
            #expect(page["X-Content-Type-Options"] == "nosniff")
            #expect(!page.text.contains("//"), "an address of another host")
        }
    }

    @Test func everyFileIsSentAndKnownOnesAreNotSentAgain() async throws {
        try await onStage(environment: withKeys) { stage in
            for file in PageFiles.all.values {
                let answer = try RawClient.get(port: stage.port, "/page/\(file.name)")
                #expect(answer.status == 200 && answer["Content-Type"] == file.contentType, "\(file.name)")
                #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Cache-Control"] == "no-cache")
                let isWhole = answer.body == file.bytes
                #expect(isWhole, "\(file.name)")
                let tag = try #require(answer["ETag"])
                for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let again = try RawClient.get(
                        port: stage.port, "/page/\(file.name)", fields: [("If-None-Match", known)])
                    #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == tag)
                }
            }
            let other = try RawClient.get(port: stage.port, "/page/app.js", fields: [("If-None-Match", "\"other\"")])
            #expect(other.status == 200)
            for name in ["none.js", "views/none.js", "markdown/app.js", "index.html"] {
                #expect(try RawClient.get(port: stage.port, "/page/\(name)").status == 404, "\(name)")
            }
        }
    }

    @Test(arguments: [
        ("gzip", true), ("deflate, gzip;q=0.5", true), ("gzip;q=0", false), ("br", false), ("xgzip", false),
    ])
    func filesAreCompressedForThoseWhoAcceptIt(accepted: String, isCompressed: Bool) async throws {
        try await onStage { stage in
            let file = try #require(PageFiles.all["app.js"])
            let answer = try RawClient.get(port: stage.port, "/page/app.js", fields: [("Accept-Encoding", accepted)])
            #expect((answer["Content-Encoding"] == "gzip") == isCompressed)
            let isThat = answer.body == (isCompressed ? file.compressed : file.bytes)
            #expect(isThat)
            #expect(answer["Vary"] == "accept, accept-encoding")
        }
    }

    @Test func settingsNameTheApp() async throws {
        try await onStage(environment: [.pageApp: "family \"chat\""]) { stage in
            let answer = try RawClient.get(port: stage.port, "/page/settings.json")
            #expect(answer.json["app"] as? String == "family \"chat\"")
        }
    }

    @Test func linkOfAnotherSiteOpensThePageOnly() async throws {
        try await onStage { stage in
            let link = [Self.browser, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]
            let page = try RawClient.get(port: stage.port, "/", fields: link)
            #expect(page.status == 200)
            let other = try RawClient.get(port: stage.port, "/getchatts", fields: link)
            #expect(other.status == 403)
            let script = [Self.browser, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")]
            let fetched = try RawClient.get(port: stage.port, "/", fields: script)
            #expect(fetched.status == 403)
        }
    }
}
