import ChatterdHTTP
import Testing

@Suite struct FieldsTests {
    @Test func lookupFindsTheFirstValue() throws {
        var fields = Fields()
        fields.add(.accept, "a")
        fields.add(try #require(FieldName("ACCEPT")), "b")
        #expect(fields[.accept] == "a")
        #expect(fields.values(of: .accept) == ["a", "b"])
        #expect(fields.count(of: .accept) == 2)
        #expect(fields[.host] == nil)
    }

    @Test func setReplacesAllValues() {
        var fields: Fields = [.accept: "a", .host: "h", .accept: "b"]
        fields.set(.accept, "c")
        #expect(fields.map(\.value) == ["h", "c"])
        fields.remove(.host)
        #expect(!fields.contains(.host))
    }

    @Test func listSpansAllFieldLines() {
        let fields: Fields = [.accept: "a, b ,\t,c", .host: "x", .accept: "", .accept: "d"]
        #expect(fields.elements(of: .accept) == ["a", "b", "c", "d"])
    }

    @Test(arguments: ["a", "X-Y_z", "!#$%&'*+-.^_`|~09"]) func tokenIsAName(_ text: String) {
        #expect(FieldName(text)?.text == text.lowercased())
    }

    @Test(arguments: ["", " ", "a b", "a:", "a\r\nb", "ä", "a\0", "(a)", "a,b"]) func otherTextIsNoName(_ text: String)
    {
        #expect(FieldName(text) == nil)
        #expect(Method(text) == nil)
    }

    @Test(arguments: ["", "a", "a b\tc", "ä", "\"\\"]) func textIsAValue(_ text: String) {
        #expect(FieldValue(validating: text)?.text == text)
    }

    @Test(arguments: ["a\r\nb", "a\n", "a\r", "\0", " a", "a ", "\ta", " ", "\u{7F}", "\u{1B}"])
    func lineEndsControlBytesAndOuterSpacesAreNoValue(_ text: String) {
        #expect(FieldValue(validating: text) == nil)
    }

    @Test(arguments: [-1, 0, 99, 1000]) func numberOutsideTheCodesIsNoStatus(_ code: Int) {
        #expect(Status(code) == nil)
    }

    @Test func statusHasItsClassAndReason() throws {
        #expect(Status.ok.isSuccess && Status.continue.isInformational && Status.notModified.isRedirection)
        #expect(Status.notFound.isClientError && Status.badGateway.isServerError)
        #expect(try #require(Status(999)).isServerError)
        #expect(Status.contentTooLarge.reason.description == "Content Too Large")
        #expect(try #require(Status(599)).reason.description == "")
    }

    @Test(arguments: HTTPError.Code.allCases) func errorNamesItsStatusAndItsSection(_ code: HTTPError.Code) {
        let error = HTTPError(code)
        #expect(error.message.hasSuffix("."))
        #expect(error.section.description.hasPrefix("RFC ") || error.section.description.hasPrefix("HTML "))
        #expect(error.status.code >= 400)
        #expect(error.description.hasPrefix(code.rawValue))
    }
}
