/// A fault of a message. It contains no text of the peer.
public struct HTTPError: Error, Sendable, Hashable {
    /// The closed set of faults.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The request line is not `method SP target SP version`.
        case malformedRequestLine
        /// The status line is not `version SP code SP reason`.
        case malformedStatusLine
        /// The target is in no form that the method allows.
        case malformedTarget
        /// The path holds a bad escape, an encoded control byte, bad UTF-8 or a dot segment.
        case unsafePath
        /// CONNECT is not offered.
        case connectRefused
        /// A version other than 1.0 and 1.1.
        case unsupportedVersion
        /// LF without CR.
        case bareLineFeed
        /// CR without LF.
        case bareCarriageReturn
        /// NUL or another control byte.
        case controlByte
        /// A field line that begins with white space.
        case foldedField
        /// A field name that is empty or no token, or white space before the colon.
        case malformedFieldName
        /// A field line without colon.
        case missingColon
        /// A field value with bytes that it may not hold.
        case malformedFieldValue
        /// HTTP/1.1 without Host.
        case missingHost
        /// More than one Host.
        case duplicateHost
        /// A Host that names no host and port.
        case malformedHost
        /// The request line is over its limit.
        case requestLineTooLong
        /// A field line is over its limit.
        case fieldTooLarge
        /// The head is over its limit.
        case headTooLarge
        /// There are more fields than the limit allows.
        case tooManyFields
        /// Content-Length is no number.
        case malformedLength
        /// There is more than one Content-Length.
        case duplicateLength
        /// Content-Length beside Transfer-Encoding.
        case lengthAndEncoding
        /// Transfer-Encoding in HTTP/1.0, or not exactly `chunked` once.
        case malformedTransferEncoding
        /// A transfer coding other than `chunked`.
        case unknownTransferCoding
        /// An expectation other than `100-continue`.
        case unknownExpectation
        /// A chunk size that is no hexadecimal number, or too large.
        case malformedChunkSize
        /// A chunk extension that violates the grammar.
        case malformedChunkExtension
        /// A chunk that does not end where its size says.
        case malformedChunkEnd
        /// Too many bytes of framing for the data they carry.
        case chunkOverhead
        /// A trailer field that violates the grammar.
        case malformedTrailer
        /// The trailer section is over its limit.
        case trailerTooLarge
        /// The body is over its limit.
        case bodyTooLarge
        /// The connection ended before the message did.
        case truncated
        /// A line of an event stream is over its limit.
        case lineTooLong
        /// The data of one event is over its limit.
        case eventTooLarge
    }

    public let code: Code

    /// Creates the error of a fault.
    public init(_ code: Code) {
        self.code = code
    }

    /// The status of the answer to a faulty request. It has no meaning for a response.
    public var status: Status { facts.status }

    /// The section of the RFC, or of the standard, that the message violates.
    public var section: StaticString { facts.section }

    /// The fault and its remedy, for people.
    public var message: String { "\(facts.message)" }
}

extension HTTPError: CustomStringConvertible {
    /// Code, message and section.
    public var description: String { "\(code.rawValue): \(message) (\(section))" }
}

extension HTTPError {
    private typealias Facts = (status: Status, section: StaticString, message: StaticString)

    /// The one table of faults.
    private var facts: Facts {
        switch code {
        case .malformedRequestLine:
            (.badRequest, "RFC 9112 3", "The request line must be method, target and version with one space between.")
        case .malformedStatusLine:
            (.badGateway, "RFC 9112 4", "The status line must be version, three-digit code and reason.")
        case .malformedTarget:
            (.badRequest, "RFC 9112 3.2", "The request target is malformed: send a path that begins with a slash.")
        case .unsafePath:
            (.badRequest, "RFC 3986 6.2.2", "The path must be free of dot segments, bad escapes and control bytes.")
        case .connectRefused:
            (.notImplemented, "RFC 9110 9.3.6", "This server opens no tunnels: send the request itself.")
        case .unsupportedVersion:
            (.versionNotSupported, "RFC 9112 2.3", "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
        case .bareLineFeed:
            (.badRequest, "RFC 9112 2.2", "Lines must end with CR LF: there is a LF alone.")
        case .bareCarriageReturn:
            (.badRequest, "RFC 9112 2.2", "Lines must end with CR LF: there is a CR alone.")
        case .controlByte:
            (.badRequest, "RFC 9110 5.5", "The head holds a control byte: remove it or encode it.")
        case .foldedField:
            (.badRequest, "RFC 9112 5.2", "A field must stand on one line, without white space before it.")
        case .malformedFieldName:
            (.badRequest, "RFC 9112 5.1", "A field name must be a token with the colon right after it.")
        case .missingColon:
            (.badRequest, "RFC 9112 5", "A field line must have a colon after its name.")
        case .malformedFieldValue:
            (.badRequest, "RFC 9110 5.5", "A field value must be visible text without line ends.")
        case .missingHost:
            (.badRequest, "RFC 9112 3.2", "An HTTP/1.1 request must have a Host field.")
        case .duplicateHost:
            (.badRequest, "RFC 9112 3.2", "A request must have only one Host field.")
        case .malformedHost:
            (.badRequest, "RFC 9110 7.2", "The Host field must be a host, with a port at most.")
        case .requestLineTooLong:
            (.uriTooLong, "RFC 9112 3", "The request line is too long: shorten the target.")
        case .fieldTooLarge:
            (.requestHeaderFieldsTooLarge, "RFC 6585 5", "A field line is too long: shorten its value.")
        case .headTooLarge:
            (.requestHeaderFieldsTooLarge, "RFC 6585 5", "The head is too large: send fewer or shorter fields.")
        case .tooManyFields:
            (.requestHeaderFieldsTooLarge, "RFC 6585 5", "There are too many fields: send fewer.")
        case .malformedLength:
            (.badRequest, "RFC 9110 8.6", "Content-Length must be one decimal number.")
        case .duplicateLength:
            (.badRequest, "RFC 9112 6.3", "Content-Length must be sent once.")
        case .lengthAndEncoding:
            (.badRequest, "RFC 9112 6.1", "Send Content-Length or Transfer-Encoding, not both.")
        case .malformedTransferEncoding:
            (.badRequest, "RFC 9112 6.1", "Transfer-Encoding must be chunked, once, and needs HTTP/1.1.")
        case .unknownTransferCoding:
            (.notImplemented, "RFC 9112 6.1", "The only transfer coding known here is chunked.")
        case .unknownExpectation:
            (.expectationFailed, "RFC 9110 10.1.1", "The only expectation known here is 100-continue.")
        case .malformedChunkSize:
            (.badRequest, "RFC 9112 7.1", "A chunk must begin with its size in hexadecimal digits and CR LF.")
        case .malformedChunkExtension:
            (.badRequest, "RFC 9112 7.1.1", "A chunk extension is malformed: leave it out.")
        case .malformedChunkEnd:
            (.badRequest, "RFC 9112 7.1", "A chunk must be as long as its size says, with CR LF after it.")
        case .chunkOverhead:
            (.badRequest, "RFC 9112 7.1.1", "Too much framing for too little data: send larger chunks.")
        case .malformedTrailer:
            (.badRequest, "RFC 9112 7.1.2", "A trailer field is malformed: leave it out.")
        case .trailerTooLarge:
            (.requestHeaderFieldsTooLarge, "RFC 9112 7.1.2", "The trailer section is too large: leave it out.")
        case .bodyTooLarge:
            (.contentTooLarge, "RFC 9110 15.5.14", "The body is too large.")
        case .truncated:
            (.badRequest, "RFC 9112 8", "The connection ended before the message was complete.")
        case .lineTooLong:
            (.badGateway, "HTML 9.2.6", "A line of the event stream is too long.")
        case .eventTooLarge:
            (.badGateway, "HTML 9.2.6", "An event of the event stream is too large.")
        }
    }
}
