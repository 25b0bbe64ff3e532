import ChatterdBasics
import ChatterdChat
import Testing

@Suite(.timeLimit(.minutes(30))) struct UpstreamDefaultsTests {
    private static func members(_ text: String) throws -> [RawMember] {
        try [RawMember](decodingMembers: Array(text.utf8))
    }

    private static let standard = #""options":{"temperature":0.2,"num_ctx":8192},"keep_alive":"1h""#

    @Test(arguments: [
        ("", standard),
        (#""think":true"#, #""think":true,\#(standard)"#),
        (#""keep_alive":0"#, #""keep_alive":0,"options":{"temperature":0.2,"num_ctx":8192}"#),
        (
            #""options":{ "temperature" : 1.50 },"think":false"#,
            #""options":{"temperature":1.50,"num_ctx":8192},"think":false,"keep_alive":"1h""#
        ),
        (#""options":{}"#, #""options":{"temperature":0.2,"num_ctx":8192},"keep_alive":"1h""#),
        (
            #""options":{"num_ctx":1,"temperature":null,"stop":["a"]}"#,
            #""options":{"num_ctx":1,"temperature":null,"stop":["a"]},"keep_alive":"1h""#
        ),
        (#""options":[1]"#, #""options":[1],"keep_alive":"1h""#),
    ])
    func membersOfTheRequestOverrideDefaults(_ request: String, expected: String) throws {
        var upstream = UpstreamDescription(name: "a", kind: .ollama)
        upstream.defaults = try Self.members(Self.standard)
        var text = ByteBuffer()
        text.append(upstream.merged(into: try Self.members(request)))
        #expect(String(decoding: text.array, as: UTF8.self) == expected)
    }

    @Test func requestWithoutDefaultsIsUnchanged() throws {
        let members = try Self.members(#""options":{ "a" : 1 }"#)
        #expect(UpstreamDescription(name: "a", kind: .echo).merged(into: members) == members)
    }
}
