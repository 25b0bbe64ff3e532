import HTTP
import Testing

@Test func aStatusHasItsReason() {
    #expect(Status.ok.reason.description == "OK")
}
