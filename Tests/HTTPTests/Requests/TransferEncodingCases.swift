private func coded(_ lines: String...) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n2\r\nhi\r\n0\r\n\r\n"
}

/// RFC 9112 sections 6.1 and 6.3.
let transferEncodingCases: [RequestCase] = [
    RequestCase("chunked", coded("Transfer-Encoding: chunked"), "POST / @a transfer-encoding=chunked \"hi\""),
    RequestCase(
        "chunked in capitals", coded("TRANSFER-ENCODING: Chunked"),
        "POST / @a transfer-encoding=Chunked \"hi\""),
    RequestCase(
        "chunked with white space around", coded("Transfer-Encoding:\t chunked \t"),
        "POST / @a transfer-encoding=chunked \"hi\""),
    RequestCase(
        "length, then chunked", coded("Content-Length: 12", "Transfer-Encoding: chunked"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "chunked, then length", coded("Transfer-Encoding: chunked", "Content-Length: 12"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "chunked and a length of zero", coded("Transfer-Encoding: chunked", "Content-Length: 0"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "chunked and a malformed length", coded("Transfer-Encoding: chunked", "Content-Length: x"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "an unknown coding and a length", coded("Transfer-Encoding: x", "Content-Length: 12"),
        "! 400 lengthAndEncoding"),
    RequestCase(
        "chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "chunked and length in HTTP/1.0",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "chunked twice in a list", coded("Transfer-Encoding: chunked, chunked"),
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "chunked twice in two lines", coded("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        "! 400 malformedTransferEncoding"),
    RequestCase("an empty coding", coded("Transfer-Encoding:"), "! 400 malformedTransferEncoding"),
    RequestCase(
        "an empty element before chunked", coded("Transfer-Encoding: , chunked"),
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "an empty element after chunked", coded("Transfer-Encoding: chunked,"),
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "chunked and an empty line", coded("Transfer-Encoding: chunked", "Transfer-Encoding:"),
        "! 400 malformedTransferEncoding"),
    RequestCase(
        "chunked with a parameter", coded("Transfer-Encoding: chunked;q=1"),
        "! 400 malformedTransferEncoding"),
    RequestCase("chunked in quotes", coded("Transfer-Encoding: \"chunked\""), "! 400 malformedTransferEncoding"),
    RequestCase("chunked and a word", coded("Transfer-Encoding: chunked x"), "! 400 malformedTransferEncoding"),
    RequestCase("chunked after a vertical tab", coded("Transfer-Encoding: \u{0B}chunked"), "! 400 controlByte"),
    RequestCase("chunked after NUL", coded("Transfer-Encoding: chunked\0"), "! 400 controlByte"),
    RequestCase(
        "chunked with a high byte", coded("Transfer-Encoding: \u{A0}chunked"),
        "! 400 malformedTransferEncoding"),
    RequestCase("gzip, then chunked", coded("Transfer-Encoding: gzip, chunked"), "! 501 unknownTransferCoding"),
    RequestCase("chunked, then gzip", coded("Transfer-Encoding: chunked, gzip"), "! 501 unknownTransferCoding"),
    RequestCase("gzip alone", coded("Transfer-Encoding: gzip"), "! 501 unknownTransferCoding"),
    RequestCase("identity", coded("Transfer-Encoding: identity"), "! 501 unknownTransferCoding"),
    RequestCase(
        "chunked and identity in two lines", coded("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        "! 501 unknownTransferCoding"),
    RequestCase(
        "a coding that only looks like chunked", coded("Transfer-Encoding: xchunked"),
        "! 501 unknownTransferCoding"),
    RequestCase(
        "a coding that begins like chunked", coded("Transfer-Encoding: chunke"),
        "! 501 unknownTransferCoding"),
    RequestCase(
        "a name that only looks like it", coded("Transfer_Encoding: chunked"),
        "POST / @a transfer_encoding=chunked", "! 400 malformedRequestLine"),
]
