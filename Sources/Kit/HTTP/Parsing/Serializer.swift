import ChatterdBasics

extension RequestHead {
    /// Appends the head with its empty line; the version sent is always HTTP/1.1.
    public func write(to buffer: inout ByteBuffer) {
        buffer.append(utf8: method.name)
        buffer.append(Grammar.space)
        buffer.append(utf8: target.text)
        buffer.append(" HTTP/1.1\r\n")
        fields.write(to: &buffer)
        buffer.append("\r\n")
    }
}

extension ResponseHead {
    /// Appends the head with its empty line; the version sent is always HTTP/1.1, RFC 9110 6.2.
    public func write(to buffer: inout ByteBuffer) {
        status.writeLine(to: &buffer)
        fields.write(to: &buffer)
        buffer.append("\r\n")
    }
}

extension Status {
    /// Appends a status line of HTTP/1.1 with its line end.
    public func writeLine(to buffer: inout ByteBuffer) {
        buffer.append("HTTP/1.1 ")
        buffer.append(decimal: code)
        buffer.append(Grammar.space)
        buffer.append(reason)
        buffer.append("\r\n")
    }
}

extension Fields {
    /// Appends all field lines, without the empty line.
    public func write(to buffer: inout ByteBuffer) {
        for field in self {
            buffer.append(utf8: field.name.text)
            buffer.append(": ")
            buffer.append(utf8: field.value)
            buffer.append("\r\n")
        }
    }
}
