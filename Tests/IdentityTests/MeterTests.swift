import Testing

@testable import ChatterdIdentity

@Suite struct MeterTests {
    @Test func keyCountsWithItsLimits() {
        var principal = Principal(owner: Owner(app: "shop"), scopes: [.chat], credential: .key(id: "1"))
        principal.allowance = Allowance(requestsPerMinute: 5)
        let meter = Meter(
            source: .key("1"), owner: Owner(app: "shop"), sourceLimits: Allowance(requestsPerMinute: 5))
        #expect(principal.meter == meter && meter.isLimited)
    }

    @Test func tokenCountsAgainstItsKeyAndItsPerson() {
        let ada = Owner(app: "shop", person: "ada")
        var principal = Principal(owner: ada, scopes: [.chat], credential: .token(key: "1", issuedAt: 0))
        principal.allowance = Allowance(concurrentReplies: 1)
        principal.keyAllowance = Allowance(tokensPerDay: 9)
        let meter = Meter(
            source: .key("1"), owner: ada, sourceLimits: Allowance(tokensPerDay: 9),
            ownerLimits: Allowance(concurrentReplies: 1))
        #expect(principal.meter == meter)
    }

    @Test func sessionCountsAsTheCredentialBehindIt() {
        let credential = Credential.session(id: "s", of: .key(id: "1"))
        var principal = Principal(owner: Owner(app: "shop"), scopes: [.chat], credential: credential)
        principal.allowance = Allowance(tokensPerDay: 9)
        #expect(principal.meter?.source == .key("1"))
        #expect(principal.meter?.sourceLimits == Allowance(tokensPerDay: 9))
        #expect(principal.meter?.ownerLimits.isUnlimited == true)
    }

    @Test func tokensOfIssuersCountForTheApp() {
        let ada = Owner(app: "shop", person: "ada")
        let principal = Principal(owner: ada, scopes: [.chat], credential: .issuer("https://i", issuedAt: 0))
        #expect(principal.meter?.source == .issuers(of: "shop") && principal.meter?.isLimited == false)
    }

    @Test func requestsWithoutAKeyDoNotCount() {
        #expect(Principal.anyone.meter == nil)
        #expect(Principal.administrator.meter == nil)
    }

    @Test func sourcesOfDifferentKindsDiffer() {
        #expect(UsageSource.key("a") != UsageSource.issuers(of: "a"))
    }
}
