import ChatterdBasics
import Testing

@testable import ChatterdTracing

@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test func contextIsWhatItsTextSays() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let context = try #require(TraceContext(traceparent: text, tracestate: ["rojo=00f0,congo=t61"]))
        #expect(context.traceparent == text && context.isSampled)
        #expect(context.state == "rojo=00f0,congo=t61")
        #expect(context.with(span: 1).traceparent == "00-\(Self.trace)-0000000000000001-01")
        #expect(!context.with(isSampled: false).isSampled)
        #expect(TraceContext(text: context.text) == context)
        let bare = try #require(TraceContext(traceparent: text))
        #expect(TraceContext(text: bare.text) == bare)
    }

    @Test func unknownFlagsAndMembersOfLaterVersionsAreIgnored() throws {
        let context = try #require(TraceContext(traceparent: "cc-\(Self.trace)-\(Self.span)-fb-what the future has"))
        #expect(context.traceparent == "00-\(Self.trace)-\(Self.span)-03")
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01 ",
        "ff-\(trace)-\(span)-01", "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-\(span)-01", "00-\(trace)-\(span)-0g", "00_\(trace)_\(span)_01",
        "00-\(trace)-\(span)x01", "cc-\(trace)-\(span)-01.later", "00-\(trace)é-\(span)-01", " 00-\(trace)-\(span)-01",
    ]) func invalidParentIsNone(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test(arguments: [
        (["a=1"], "a=1"), (["a=1 , b=2", "c=3"], "a=1,b=2,c=3"), ([" a@b=x y\t"], "a@b=x y"), (["", ",,a=1,"], "a=1"),
        (["A=1"], ""), (["a"], ""), (["=1"], ""), (["a="], ""), (["a=1=2"], ""), (["a=é"], ""), (["a=1", "B=2"], ""),
    ]) func stateIsKeptAsTheSpecificationPermits(values: [String], state: String) {
        let context = TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: values)
        #expect(context?.state == state)
    }

    @Test func stateHasALimit() throws {
        let entries = (0..<40).map { "k\($0)=1" }
        let many = try #require(
            TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: [entries.joined(separator: ",")]))
        #expect(many.state == entries.prefix(32).joined(separator: ","))
        let long = "a=" + String(repeating: "x", count: 200)
        let large = try #require(
            TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: [long, long, long]))
        #expect(large.state == "\(long),\(long)")
        #expect(large.state.utf8.count <= TraceContext.maximumState)
    }

    @Test func randomTextsAreReadOrRefused() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("0123456789abcdef-fF g=,é")
        for _ in 0..<20_000 {
            let text = String((0..<Int.random(in: 50...60, using: &generator)).map { _ in alphabet.randomElement()! })
            guard let context = TraceContext(traceparent: text, tracestate: [text]) else { continue }
            #expect(TraceContext(text: context.text) == context)
        }
    }

    @Test func samplerDecides() throws {
        let sampled = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01"))
        let other = sampled.with(isSampled: false)
        let id = TraceID(high: 1, low: 1 << 62)
        func samples(_ sampler: Sampler, _ parent: TraceContext?) -> Bool {
            sampler.span(of: parent, trace: id, span: 7).isSampled
        }
        for (sampler, alone, withSampled, withOther) in [
            (Sampler.always(.all), true, true, true), (.always(.none), false, false, false),
            (.byParent(else: .all), true, true, false), (.byParent(else: .none), false, true, false),
            // 1 << 62 is half of the range; the trace of the parent has 0x23ce….
            (.always(.share(0.51)), true, true, true), (.always(.share(0.5)), false, true, true),
            (.byParent(else: .share(0.5)), false, true, false), (.always(.share(0)), false, false, false),
            (.always(.share(1)), true, true, true),
        ] {
            #expect(samples(sampler, nil) == alone, "\(sampler)")
            #expect(samples(sampler, sampled) == withSampled, "\(sampler)")
            #expect(samples(sampler, other) == withOther, "\(sampler)")
        }
        let child = Sampler.byParent(else: .all).span(of: sampled, trace: id, span: 7)
        #expect(child.trace == sampled.trace && child.span == 7)
    }

    @Test func documentHasTheFormOfOTLP() throws {
        let context = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01", tracestate: ["a=1"]))
        var spans = SpanTexts(expecting: 2)
        spans.begin(context, in: 1, .client, "chat \"x\"", from: 5, to: 3)
        spans.add(.status, 200)
        spans.add(.route, "/llmchat")
        spans.add(.route, nil as String?)
        spans.fail("upstream_busy")
        spans.end(firstToken: .max, link: context)
        spans.begin(context, in: nil, .inner, "reply", from: 0, to: .max)
        spans.end()
        var batch = SpanDocument(resource: [("service.name", "é")], version: "1").makeBatch()
        for index in 0..<spans.count { batch.append(spans[index]) }
        let json = batch.json()
        let first = """
            {"traceId":"\(Self.trace)",\
            "spanId":"\(Self.span)","parentSpanId":"0000000000000001","traceState":"a=1","name":"chat \\"x\\"","kind":3,\
            "startTimeUnixNano":"5","endTimeUnixNano":"5","attributes":[{"key":"http.response.status_code",\
            "value":{"intValue":"200"}},{"key":"http.route","value":{"stringValue":"/llmchat"}},{"key":"error.type",\
            "value":{"stringValue":"upstream_busy"}}],"events":[{"timeUnixNano":"18446744073709551615",\
            "name":"first_token"}],"links":[{"traceId":"\(Self.trace)","spanId":"\(Self.span)"}],"status":{"code":2}}
            """
        let second = """
            {"traceId":"\(Self.trace)","spanId":"\(Self.span)","traceState":"a=1","name":"reply","kind":1,\
            "startTimeUnixNano":"0","endTimeUnixNano":"18446744073709551615","attributes":[]}
            """
        let expected = """
            {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"é"}}]},\
            "scopeSpans":[{"scope":{"name":"chatterd","version":"1"},"spans":[\(first),\(second)],\
            "schemaUrl":"https://opentelemetry.io/schemas/1.37.0"}]}]}
            """
        #expect(String(decoding: json, as: UTF8.self) == expected)
    }
}
