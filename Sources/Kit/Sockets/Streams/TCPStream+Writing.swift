import CChatterdSystem
import ChatterdBasics
import Glibc

// The output of a stream: gathered in a buffer, and sent at the end of the turn.
extension TCPStream {
    /// The number of bytes that the system has not accepted yet.
    public var unsentCount: Int { (output?.count ?? 0) + (sharedOutput?.count ?? 0) }

    /// The number of bytes that the system has accepted since the stream began, those of TLS itself included as long as it is open.
    public var transmittedCount: Int { tls?.sentCount ?? sentCount }

    /// The number of transmitted bytes that the peer's system has not acknowledged; `nil` if the stream is closed or the system cannot
    /// tell. After a reset, it includes bytes that the peer accepted before the reset.
    public var unacknowledgedCount: Int? {
        let count = csystem_tcp_unacknowledged(descriptor)
        return count < 0 ? nil : Int(count)
    }

    /// Lets `body` append to the output, which is sent at the end of the turn.
    @inline(__always)
    public func write(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        append(body)
        flushSoon()
    }

    /// Lets `body` append to the output, which is sent with what is written within 5 ms, or then.
    public func hold(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        append(body)
        guard !isHeld, !isWaitingToFlush else { return }
        isHeld = true
        shard.hold(self)
    }

    /// Sends the output that waits, if it has not been sent. Called by the shard.
    func endHold() {
        guard isHeld else { return }
        isHeld = false
        flushSoon()
    }

    @inline(__always)
    private func append(_ body: (inout ByteBuffer) -> Void) {
        if let sharedOutput {
            sharedOutput.write(body)
            return
        }
        var buffer = output.take() ?? shard.acquireBuffer()
        body(&buffer)
        output = consume buffer
    }

    /// Appends bytes to the output, which is sent at the end of the turn.
    public func write(_ bytes: Span<UInt8>) {
        write { $0.append(bytes) }
    }

    /// Appends bytes to the output, which is sent at the end of the turn. A large part is not copied.
    public func write(sharing part: SharedBytes) {
        guard part.count >= SharedOutput.partSize else {
            write(part.bytes)
            return
        }
        guard !isClosed else { return }
        let shared = sharedOutput ?? SharedOutput()
        shared.append(part)
        sharedOutput = shared
        flushSoon()
    }

    /// Calls `streamDrained` of the delegate once the output so far is sent, at the end of this turn at the earliest.
    public func reportDrained() {
        guard !isClosed else { return }
        reportsDrained = true
        flushSoon()
    }

    /// Ends this direction once all output is sent, and then calls `streamDrained`.
    public func shutdownWriting() {
        guard !isClosed else { return }
        shutsDownWhenDrained = true
        reportDrained()
    }

    func flushSoon() {
        guard !isWaitingToFlush else { return }
        isWaitingToFlush = true
        shard.flushLater(self)
    }

    /// Sends as much output as the system accepts. Called by the shard at the end of the turn.
    func flush() {
        guard !isClosed, !isConnecting, !isHandshaking else {
            isWaitingToFlush = false
            return
        }
        delegate?.streamWillFlush(self)
        // Reset after the call, because bytes that the delegate appends belong to this flush.
        isWaitingToFlush = false
        isHeld = false
        guard !isClosed else { return }
        // Moved out, so that appending and sending never copy the buffer.
        guard var buffer = output.take() else {
            flushSharedOutput()
            return
        }
        while isWritable, !buffer.isEmpty {
            let sent = buffer.bytes.withUnsafeBufferPointer { send($0) }
            guard noteSent(sent) else { return }
            buffer.removeFirst(max(sent, 0))
        }
        if buffer.isEmpty {
            // Consumed, because emptying a copy would allocate another buffer.
            shard.releaseBuffer(consume buffer)
            flushSharedOutput()
        } else {
            output = consume buffer
            reportBlocked()
        }
    }

    private func flushSharedOutput() {
        if let sharedOutput {
            while isWritable, !sharedOutput.isEmpty {
                guard noteSent(sharedOutput.sendNext { send($0) }) else { return }
            }
            guard sharedOutput.isEmpty else {
                reportBlocked()
                return
            }
            self.sharedOutput = nil
        }
        finishFlush()
    }

    /// Notes the result of a send. Returns `false` if the stream broke.
    private func noteSent(_ sent: Int) -> Bool {
        if sent >= 0 {
            sentCount += sent
        } else if sent == -Int(EAGAIN) {
            isWritable = false
        } else {
            failSending(error(sent, "send to \(peer)"))
            return false
        }
        return true
    }

    private func reportBlocked() {
        guard !isBlocked else { return }
        isBlocked = true
        delegate?.streamBlocked(self)
    }

    private func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let tls else { return csystem_send(descriptor, bytes.baseAddress, bytes.count) }
        return tls.write(bytes)
    }

    private func finishFlush() {
        if shutsDownWhenDrained {
            if let tls, tls.shutdown() == -Int(EAGAIN) {
                isWritable = false
                return
            }
            shutsDownWhenDrained = false
            Glibc.shutdown(descriptor, Int32(SHUT_WR))
        }
        if isBlocked || reportsDrained {
            isBlocked = false
            reportsDrained = false
            delegate?.streamDrained(self)
        }
    }
}
