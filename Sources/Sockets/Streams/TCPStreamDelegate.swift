/// Whoever uses a stream; all calls come on the stream's shard.
public protocol TCPStreamDelegate: AnyObject {
    /// The connection that `connect` began stands, TLS included.
    func streamConnected(_ stream: TCPStream)
    /// Bytes came in; they are lent for the duration of the call.
    func stream(_ stream: TCPStream, received bytes: Span<UInt8>)
    /// The peer will send nothing more; writing may go on.
    func streamReachedEnd(_ stream: TCPStream)
    /// The turn's output is about to be sent: the last moment to complete it.
    func streamWillFlush(_ stream: TCPStream)
    /// The system took less than there was to send; `streamDrained` follows once it has taken the rest.
    func streamBlocked(_ stream: TCPStream)
    /// All output is with the system, after `streamBlocked`, `shutdownWriting` or `reportDrained`.
    func streamDrained(_ stream: TCPStream)
    /// The stream broke; it is closed already, and says nothing more.
    func stream(_ stream: TCPStream, failed error: SocketError)
}

extension TCPStreamDelegate {
    /// Does nothing.
    public func streamConnected(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamWillFlush(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamBlocked(_ stream: TCPStream) {}
    /// Does nothing.
    public func streamDrained(_ stream: TCPStream) {}
}
