import ChatterdHTTP
import Testing

struct HostNameTests {
    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:8080", "192.168.178.255:1", "0.0.0.0", "[::1]", "[::1]:8080", "[fe80::1]:65535",
        "localhost",
        "LocalHost:80", "localhost:",
    ])
    func numericAddressOrLocalhostIsFixed(authority: String) {
        #expect(HostName.isFixed(authority))
    }

    @Test(arguments: [
        "example.com", "127.0.0.1.example.com:80", "localhost.example.com", "xlocalhost", "127.0.0", "127.0.0.1.",
        "256.1.1.1",
        "1.2.3.4.5", "1..2.3", "0001.2.3.4", "2130706433", "0x7f.1", "a", "localhost.",
    ])
    func nameIsNotFixed(authority: String) {
        #expect(!HostName.isFixed(authority))
    }

    @Test(arguments: [
        ("Chat.Example:8443", "chat.example"), ("chat.example.", "chat.example"), ("chat.example.:80", "chat.example"),
        ("[::1]:80", "[::1]"), ("[FE80::1]", "[fe80::1]"), ("my_box", "my_box"), ("a:", "a"),
    ])
    func hostIsTakenFromAnAuthority(authority: String, host: String) {
        #expect(HostName(authority: authority)?.text == host)
    }

    @Test(arguments: ["", ":80", "a b", "a/b", "http://a", "a:b", "a:99999", "[::1", "a,b", "user@a"])
    func malformedAuthorityHasNoHost(authority: String) {
        #expect(HostName(authority: authority) == nil)
    }

    @Test(arguments: ["chat.example:80", "chat.example:", "[::1]:1"])
    func hostHasNoPort(text: String) {
        #expect(HostName(text) == nil)
        #expect(HostName(authority: text) != nil)
    }
}
