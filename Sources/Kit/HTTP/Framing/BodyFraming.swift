import ChatterdBasics

/// How the end of a body is found, RFC 9112 section 6.
public enum BodyFraming: Sendable, Hashable {
    /// There is no body.
    case none
    /// A body of this many bytes.
    case length(Int)
    /// Chunks.
    case chunked
    /// Until the connection ends; responses only.
    case untilClose

    /// The framing of the body of a request, RFC 9112 6.3. Ambiguous framing is refused.
    public static func ofRequest(_ head: RequestHead) throws(HTTPError) -> BodyFraming {
        if head.fields.contains(.transferEncoding) {
            try checkTransferEncoding(of: head.fields, version: head.version)
            return .chunked
        }
        switch head.fields.count(of: .contentLength) {
        case 0: return .none
        case 1: return .length(try length(head.fields[.contentLength]))
        default: throw HTTPError(.duplicateLength)
        }
    }

    /// The framing of the body of a response to a method, RFC 9112 6.3.
    ///
    /// Lengths sent twice must agree.
    public static func ofResponse(_ head: ResponseHead, to method: Method) throws(HTTPError) -> BodyFraming {
        let status = head.status
        if method == .head || status.isInformational || status == .noContent || status == .notModified {
            return .none
        }
        if head.fields.contains(.transferEncoding) {
            try checkTransferEncoding(of: head.fields, version: head.version)
            return .chunked
        }
        guard head.fields.contains(.contentLength) else { return .untilClose }
        var agreed: Int?
        for value in head.fields.values(of: .contentLength) {
            let length = try length(value)
            guard agreed == nil || agreed == length else { throw HTTPError(.duplicateLength) }
            agreed = length
        }
        return agreed.map { .length($0) } ?? .untilClose
    }

    /// Accepts exactly `chunked`, once, in HTTP/1.1, without a length beside it.
    private static func checkTransferEncoding(of fields: Fields, version: Version) throws(HTTPError) {
        guard version == .http11 else { throw HTTPError(.malformedTransferEncoding) }
        guard !fields.contains(.contentLength) else { throw HTTPError(.lengthAndEncoding) }
        // The usual value, which needs no parsing.
        if fields.count(of: .transferEncoding) == 1, fields[.transferEncoding] == "chunked" { return }
        var isUnknown = false
        for value in fields.values(of: .transferEncoding) {
            for element in value.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false) {
                let coding = Substring(element).trimmingBlanks()
                guard Grammar.isToken(coding.utf8) else { throw HTTPError(.malformedTransferEncoding) }
                isUnknown = isUnknown || !Grammar.equals(coding, lowercase: "chunked")
            }
        }
        guard !isUnknown else { throw HTTPError(.unknownTransferCoding) }
        guard fields.count(of: .transferEncoding) == 1,
            fields[.transferEncoding].map({ !$0.utf8.contains(UInt8(ascii: ",")) }) ?? false
        else { throw HTTPError(.malformedTransferEncoding) }
    }

    /// `1*DIGIT`, RFC 9110 8.6: no sign, no list, no number that overflows.
    private static func length(_ value: String?) throws(HTTPError) -> Int {
        guard let value, !value.isEmpty else { throw HTTPError(.malformedLength) }
        var length = 0
        for byte in value.utf8 {
            guard Grammar.isDigit(byte) else { throw HTTPError(.malformedLength) }
            let (product, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !overflows, !carries else { throw HTTPError(.malformedLength) }
            length = sum
        }
        return length
    }
}
