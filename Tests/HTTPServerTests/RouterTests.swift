import ChatterdHTTP
import Testing

@testable import ChatterdHTTPServer

@Suite(.timeLimit(.minutes(30))) struct RouterTests {
    private let router: Router = {
        var router = Router()
        let handler: Handler = { _, _ in }
        router.on(.get, "/", handler)
        router.on(.post, "/llmchat", handler)
        router.on(.get, "/replies/:id", handler)
        router.on(.delete, "/replies/:id", handler)
        router.on(.get, "/replies", handler)
        router.on(.delete, "/replies", handler)
        router.on(.post, "/replies", handler)
        router.on(.post, "/replies/:id/choose", handler)
        router.on(.get, "/replies/:id/parts/:part", handler)
        router.on(.get, "/replies/newest", handler)
        router.on(.get, "/:any/of/them", handler)
        router.on(.get, "/models/:name*", handler)
        router.addBase("models")
        return router
    }()

    private func describe(_ method: ChatterdHTTP.Method, _ target: String) throws -> String {
        switch router.match(method, try Target(target, for: method)) {
        case .handler(_, _, let pattern, let parameters):
            "\(pattern) \(parameters.isEmpty ? "-" : parameters.joined(separator: ", "))"
        case .options(let allow, _): "options \(allow)"
        case .wrongMethod(let allow, _): "wrong \(allow)"
        case .emptySegment: "emptySegment"
        case .doubledSlash: "doubledSlash"
        case .repeatedSegment(let segment): "repeated \(segment)"
        case .notFound: "notFound"
        }
    }

    @Test(arguments: [
        (ChatterdHTTP.Method.get, "/", "/ -"),
        (.head, "/", "/ -"),
        (.get, "/?a=b", "/ -"),
        (.get, "http://other/", "/ -"),
        (.get, "http://other", "/ -"),
        (.post, "/llmchat", "/llmchat -"),
        (.post, "/llmchat/", "/llmchat -"),
        (.post, "/llm%63hat", "/llmchat -"),
        (.post, "/llmchat//", "doubledSlash"),
        (.post, "//llmchat", "doubledSlash"),
        (.post, "/LLMchat", "notFound"),
        (.get, "/llmchat", "wrong OPTIONS, POST"),
        (.get, "/replies", "/replies -"),
        (.delete, "/replies", "/replies -"),
        (.delete, "/replies/", "emptySegment"),
        (.delete, "/replies/?all=1", "emptySegment"),
        (.delete, "/replies/12/", "emptySegment"),
        (.put, "/replies/", "emptySegment"),
        (.post, "/replies/", "emptySegment"),
        (.post, "/nowhere/", "notFound"),
        (.delete, "/replies//", "emptySegment"),
        (.options, "/replies/", "options DELETE, GET, HEAD, OPTIONS, POST"),
        (.get, "/replies/", "/replies -"),
        (.get, "/replies/12", "/replies/:id 12"),
        (.head, "/replies/12", "/replies/:id 12"),
        (.get, "/replies/12/", "/replies/:id 12"),
        (.get, "/replies/a%20b", "/replies/:id a b"),
        (.get, "/replies/a%2Fb", "/replies/:id a/b"),
        (.get, "/replies/a%252Fb", "/replies/:id a%2Fb"),
        (.get, "/replies/a+b", "/replies/:id a+b"),
        (.get, "/replies/%C3%A9", "/replies/:id é"),
        (.get, "/replies/newest", "/replies/newest -"),
        (.get, "/replies/newest/", "/replies/newest -"),
        (.post, "/replies/12/choose", "/replies/:id/choose 12"),
        (.post, "/replies/12/choose/?a", "/replies/:id/choose 12"),
        (.post, "/replies/newest/choose", "/replies/:id/choose newest"),
        (.post, "/replies/a%2Fb/choose", "/replies/:id/choose a/b"),
        (.get, "/replies/12/parts/3", "/replies/:id/parts/:part 12, 3"),
        (.get, "/replies/a%2Fb/parts/c%20d/", "/replies/:id/parts/:part a/b, c d"),
        (.get, "/replies/12/choose", "wrong OPTIONS, POST"),
        (.post, "/replies//choose", "doubledSlash"),
        (.post, "/replies/choose", "wrong DELETE, GET, HEAD, OPTIONS"),
        (.post, "/replies/12/choose/1", "notFound"),
        (.post, "/replies/1/2/choose", "notFound"),
        (.post, "/Replies/12/choose", "notFound"),
        (.get, "/replies//", "doubledSlash"),
        (.get, "/some/of/them", "/:any/of/them some"),
        (.get, "//of/them", "doubledSlash"),
        (.get, "/of/them", "notFound"),
        (.get, "/models/tiny", "/models/:name* tiny"),
        (.get, "/models/hf.co/a/b", "/models/:name* hf.co/a/b"),
        (.get, "/models/hf.co%2Fa/b%20c/", "/models/:name* hf.co/a/b c"),
        (.get, "/models/", "notFound"),
        (.get, "/models/a//b", "doubledSlash"),
        (.get, "/models/a//", "doubledSlash"),
        (.get, "//models/a/b?c=d", "/models/:name* a/b"),
        (.get, "/models//a", "/models/:name* a"),
        (.get, "///models///a%20b/", "/models/:name* a b"),
        (.post, "//models/a", "wrong GET, HEAD, OPTIONS"),
        (.delete, "//models//", "emptySegment"),
        (.get, "//models//a//b", "doubledSlash"),
        (.get, "//model/a", "doubledSlash"),
        (.post, "/models/a/b", "wrong GET, HEAD, OPTIONS"),
        (.get, "/replies/1/2", "notFound"),
        (.post, "/llmchat/llmchat/x", "repeated llmchat"),
        (.post, "/models/models/models", "wrong GET, HEAD, OPTIONS"),
        (.put, "/replies/replies/12/choose", "repeated replies"),
        (.get, "/llmchat/llmchat", "notFound"),
        (.get, "/llmchat/llmchats/x", "notFound"),
        (.get, "/other/other/x", "notFound"),
        (.put, "/replies/12", "wrong DELETE, GET, HEAD, OPTIONS"),
        (.options, "/replies/12", "options DELETE, GET, HEAD, OPTIONS"),
        (.options, "*", "options DELETE, GET, HEAD, OPTIONS, POST"),
        (.options, "/nowhere", "notFound"),
    ])
    func targetFindsItsRoute(method: ChatterdHTTP.Method, target: String, expected: String) throws {
        #expect(try describe(method, target) == expected)
    }

    @Test(
        arguments: [
            ("/llmchatt", "/llmchat"), ("/LLMCHAT", "/llmchat"), ("/llm", "/llmchat"), ("/replys", "/replies"),
            ("/reply/123", "/replies/:id"), ("/replies/1/chose", "/replies/:id/choose"), ("/favicon.ico", nil),
            ("//", nil),
            ("/" + String(repeating: "x", count: 8000), nil),
        ] as [(String, String?)])
    func unknownPathIsLikeAKnownOne(path: String, pattern: String?) {
        #expect(router.nearestPattern(to: path) == pattern)
    }

    @Test(arguments: [
        ("abc-123", true), ("4bf92f3577b34da6a3ce929d0e0e4736", true), ("a/b:c=d.e_f+g", true), ("", false),
        ("a b", false),
        ("a\"b", false), ("ä", false), (String(repeating: "x", count: 64), true),
        (String(repeating: "x", count: 65), false),
    ])
    func idOfAClientIsValidated(id: String, isSane: Bool) {
        #expect(RequestID.isSane(id) == isSane)
    }

    @Test func idsDiffer() {
        var ids = RequestID(seed: 1)
        let made = (0..<1000).map { _ in ids.next() }
        #expect(Set(made).count == 1000)
        #expect(made.allSatisfy { $0.utf8.count == 13 && RequestID.isSane($0) })
    }
}
