import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// The errors of model servers without a connection.
@Suite(.timeLimit(.minutes(30))) struct UnreachableTests {
    @Test func linkLocalAddressIsRejectedWithAHint() async throws {
        try await blocking {
            let answer = try ModelHarness("http://169.254.169.254").ask()
            #expect(answer.code == .unavailable)
            let error = try #require(answer.ends.first ?? nil)
            #expect(error.message.contains("allow_link_local"))
            // The address is for the log.
            #expect(!error.message.contains("169"))
            #expect(error.detail.contains("169.254.169.254"))
        }
    }

    @Test func untrustedCertificateIsReported() {
        let error = ModelError(HTTPClientError(.tls, "10.0.0.1: unknown authority"))
        #expect(error.code == .unavailable)
        #expect(error.message.contains("certificate"))
        #expect(error.detail == "10.0.0.1: unknown authority")
    }
}
