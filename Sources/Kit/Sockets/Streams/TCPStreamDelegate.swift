/// Uses a stream. All calls arrive on the shard of the stream.
public protocol TCPStreamDelegate: AnyObject {
    /// The connection that `connect` began is established, including TLS.
    func streamConnected(_ stream: TCPStream)
    /// Bytes arrived. They are lent for the duration of the call.
    func stream(_ stream: TCPStream, received bytes: Span<UInt8>)
    /// The peer sends no more bytes. Output may still be written.
    func streamReachedEnd(_ stream: TCPStream)
    /// The output of the turn is about to be sent. This is the last moment to complete it.
    func streamWillFlush(_ stream: TCPStream)
    /// The system accepted a part of the output; `streamDrained` follows once it has accepted the rest.
    func streamBlocked(_ stream: TCPStream)
    /// The system has all output, after `streamBlocked`, `shutdownWriting` or `reportDrained`.
    func streamDrained(_ stream: TCPStream)
    /// The stream broke. It is closed already; this is the last call.
    func stream(_ stream: TCPStream, failed error: SocketError)
}

extension TCPStreamDelegate {
    /// Ignores the event.
    public func streamConnected(_ stream: TCPStream) {}
    /// Ignores the event.
    public func streamWillFlush(_ stream: TCPStream) {}
    /// Ignores the event.
    public func streamBlocked(_ stream: TCPStream) {}
    /// Ignores the event.
    public func streamDrained(_ stream: TCPStream) {}
}
