import ChatterdRelay
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The bodies of requests that are passed on.
struct PassThroughRequestTests {
    @Test(
        arguments: [
            (#"{"model":"m","max_tokens":9}"#, 9), (#"{"model":"m","max_tokens":9,"options":{"num_predict":7}}"#, 7),
            (#"{"model":"m","max_tokens":9.5}"#, nil), (#"{"model":"m","max_tokens":-1}"#, nil),
            (#"{"model":"m","max_tokens":1e400}"#, nil), (#"{"model":"m","max_tokens":null}"#, nil),
            (#"{"model":"m"}"#, nil), (#"{"model":"m","max_tokens":9223372036854775807}"#, 999_999_999),
            (#"{"model":"m","options":{"num_predict":9223372036854775807}}"#, 999_999_999),
            (#"{"model":"m","options":{"num_predict":-9223372036854775808}}"#, nil),
            (#"{"model":"m","max_tokens":9223372036854775808}"#, nil), (#"{"model":"m","max_tokens":"5"}"#, nil),
        ] as [(String, Int?)])
    func limitOfAnAnswerIsThePermittedNumberOfTokens(_ body: String, _ limit: Int?) throws {
        #expect(try PassThroughRequest(Array(body.utf8)).answerLimit == limit)
    }

    @Test(arguments: [
        (#"{"model":"m","keep_alive":"-1"}"#, #"{"model":"own","keep_alive":-1}"#),
        (#"{"keep_alive" : "300" ,"model":"m","x":1}"#, #"{"keep_alive" : 300 ,"model":"own","x":1}"#),
        (#"{"keep_alive":"0","model":"own"}"#, #"{"keep_alive":0,"model":"own"}"#),
        (#"{"keep_alive":"5m","model":"own"}"#, #"{"keep_alive":"5m","model":"own"}"#),
        (#"{"keep_alive":300,"model":"m"}"#, #"{"keep_alive":300,"model":"own"}"#),
    ])
    func bodyHasTheNameOfTheServerAndSecondsAsANumber(_ body: String, _ expected: String) throws {
        let passed = try PassThroughRequest(Array(body.utf8)).body(asking: "own")
        #expect(String(decoding: passed, as: UTF8.self) == expected)
    }

    @Test(arguments: [#"{"model":"a\u001eb"}"#, #"{"model":"\r\n"}"#])
    func modelWithControlCharactersIsRefused(_ body: String) {
        #expect(throws: RelayError.self) { try PassThroughRequest(Array(body.utf8)) }
    }
}
