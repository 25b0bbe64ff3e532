import ChatterdHTTP
import ChatterdTracing
import Testing

@testable import ChatterdConfiguration

/// The variables that OpenTelemetry names.
@Suite struct TracingConfigurationTests {
    private static let collector = "http://collector:4318/otlp/"

    private func read(_ variables: [String: String]) throws(ConfigurationError) -> Configuration.Tracing {
        try Configuration(environment: variables, database: .optional).tracing
    }

    private func problems(_ variables: [String: String]) -> [String] {
        do throws(ConfigurationError) {
            _ = try read(variables)
            return []
        } catch {
            return error.problems
        }
    }

    @Test func urlOfTracesCountsBeforeTheURLOfAllSignals() throws {
        #expect(try read([:]).endpoint == nil)
        let base = ["OTEL_EXPORTER_OTLP_ENDPOINT": Self.collector]
        #expect(try read(base).endpoint?.url == "http://collector:4318/otlp/v1/traces")
        let own = base.merging(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://traces/in"]) { $1 }
        #expect(try read(own).endpoint?.url == "https://traces/in")
    }

    @Test(arguments: [
        ["OTEL_SDK_DISABLED": "True"], ["OTEL_TRACES_EXPORTER": "none"], ["OTEL_TRACES_SAMPLER": "always_off"],
    ])
    func tracingIsOff(variables: [String: String]) throws {
        let all = variables.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": Self.collector]) { $1 }
        #expect(try read(all).endpoint == nil)
    }

    @Test(arguments: [
        ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"], ["OTEL_TRACES_EXPORTER": "console"],
        ["OTEL_BSP_MAX_QUEUE_SIZE": "16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "17"],
    ])
    func variablesMatterWithACollectorOnly(variables: [String: String]) {
        #expect(problems(variables).isEmpty)
        #expect(problems(variables.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": Self.collector]) { $1 }).count == 1)
    }

    @Test func variablesOfTracesCountBeforeTheOthers() throws {
        #expect(try read(["OTEL_EXPORTER_OTLP_TIMEOUT": "5000"]).timeout == .seconds(5))
        let both = ["OTEL_EXPORTER_OTLP_TIMEOUT": "5000", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2000"]
        #expect(try read(both).timeout == .seconds(2))
        let files = ["OTEL_EXPORTER_OTLP_CERTIFICATE": "/all", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "/traces"]
        #expect(try read(files).authorities == "/traces")
        let fields = ["OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2"]
        let endpoint = try read(fields.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": Self.collector]) { $1 }).endpoint
        #expect(endpoint?.fields.map(\.name.description) == ["b"])
        let own = ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"]
        #expect(problems(own.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": Self.collector]) { $1 }).isEmpty)
    }

    @Test func attributesHaveEachNameOnce() throws {
        let given = ["OTEL_RESOURCE_ATTRIBUTES": "service.name=shop,a=1, b=x%2Cy ,a=2"]
        #expect(try read(given).resource.map { "\($0.key)=\($0.value)" } == ["service.name=shop", "b=x,y", "a=2"])
        let named = given.merging(["OTEL_SERVICE_NAME": "till"]) { $1 }
        #expect(try read(named).resource.first?.value == "till")
        #expect(try read([:]).resource.map(\.value) == ["chatterd"])
        for wrong in ["a", "=1", "a=%00", (0...64).map { "k\($0)=1" }.joined(separator: ",")] {
            #expect(problems(["OTEL_RESOURCE_ATTRIBUTES": wrong]).count == 1, "\(wrong)")
        }
    }

    @Test(arguments: [
        ("always_on", "1", Sampler.always(.all)), ("traceidratio", "0.25", .always(.share(0.25))),
        ("parentbased_traceidratio", "0.25", .byParent(else: .share(0.25))),
        ("parentbased_always_off", "1", .byParent(else: .none)),
    ])
    func samplerIsTheOneThatIsNamed(name: String, share: String, sampler: Sampler) throws {
        #expect(try read(["OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": share]).sampler == sampler)
    }

    @Test func fieldsOfTheCollectorAreSecret() throws {
        let configuration = try Configuration(
            environment: ["OTEL_EXPORTER_OTLP_HEADERS": "api-key=sesame"], database: .optional)
        #expect(!configuration.description.contains("sesame"))
        let problem = problems(["OTEL_EXPORTER_OTLP_HEADERS": "sesame"])
        #expect(problem.count == 1 && !problem[0].contains("sesame"))
    }
}
