import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Invalid requests to the paths of replies: the server refuses them with a message, and never fails.
@Suite(.timeLimit(.minutes(30))) struct ReplyFuzzTests {
    private static let names = [
        "x", "%00", "%2e%2e", "..", "0", "-1", "%F0%9F%98%80", "a%2Fb", "a%252Fb", "null", "'%20OR%201=1--",
        "00112233-4455-4677-8899-aabbccddeeff", "00112233-4455-4677-8899-aabbccddeeff%20",
        String(repeating: "a", count: 4000),
    ]

    private static let bodies = [
        "", " ", "{", "{}", "[]", "null", "\"\"", "{\"model\":7}", "{\"model\":\"\"}", "{\"stream\":\"x\"}",
        "{\"on_disconnect\":-1}", "{\"on_interrupt\":null}", "{\"options\":{}}", "\u{0}",
        String(repeating: "[", count: 5000), String(repeating: " ", count: 70_000),
    ]

    @Test func randomRequestsCauseNoServerError() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.bodyLimit: "64KiB"]) { stage in
            let location = try #require(try stage.chat("app", "x")["Location"])
            let paths =
                Self.names.map { "/replies/\($0)" } + [location, location + "?appID=%F0&appID", location + "?&&="]
            for path in paths {
                let bare = path.prefix { $0 != "?" }
                for (method, target) in [
                    ("GET", path), ("HEAD", path), ("OPTIONS", path), ("PUT", path), ("POST", path),
                    ("POST", "\(bare)/choose"), ("GET", "\(bare)/choose"), ("DELETE", "\(bare)/regenerate"),
                    ("POST", "\(bare)/nothing"), ("DELETE", path), ("DELETE", "\(bare)/"),
                ] {
                    let answer = try stage.send(method, target)
                    #expect(answer.status < 500 && answer.status != 0, "\(method) \(target)")
                    if answer.status >= 400, method != "HEAD" {
                        #expect(answer.json["code"] is String, "\(method) \(target)")
                    }
                }
            }
            for body in Self.bodies {
                for path in ["/replies/x/regenerate", "/replies/\(Self.names[11])/regenerate", location + "/choose"] {
                    let answer = try RawClient.post(port: stage.port, path, json: body)
                    #expect(answer.status < 500, "\(path) \(body.prefix(20))")
                }
                let answer = try RawClient.post(port: stage.port, location + "/regenerate", json: body)
                #expect([200, 413, 422].contains(answer.status), "\(answer.status) for \(body.prefix(20))")
                if answer.status == 200 { Transcript(answer).check() }
            }
            #expect(try stage.describe(location).json["state"] as? String == "complete")
        }
    }

    @Test func unknownMethodIsRefused() async throws {
        try await onStage { stage in
            for (method, path, allowed) in [
                ("POST", "/replies/x", "DELETE, GET, HEAD, OPTIONS"),
                ("PUT", "/replies/x", "DELETE, GET, HEAD, OPTIONS"),
                ("GET", "/replies/x/choose", "OPTIONS, POST"), ("DELETE", "/replies/x/regenerate", "OPTIONS, POST"),
                ("PUT", "/conversations/app", "DELETE, GET, HEAD, OPTIONS, PATCH"),
            ] {
                let answer = try stage.send(method, path)
                #expect(answer.status == 405, "\(method) \(path)")
                #expect(answer["Allow"] == allowed, "\(method) \(path)")
            }
            for path in ["/replies", "/replies/", "/replies//choose", "/replies/x/y"] {
                #expect(try stage.send("GET", path).status == 404, "\(path)")
            }
            // The empty last segment stands for a name that is missing.
            #expect(try stage.send("PUT", "/replies/x/").status == 404)
        }
    }
}
