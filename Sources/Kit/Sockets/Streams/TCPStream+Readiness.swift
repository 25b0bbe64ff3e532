import CChatterdSystem
import Glibc

// What epoll reports, and the handshake of TLS.
extension TCPStream {
    /// Reads and writes as far as the descriptor allows. Called by the shard.
    public func becameReady(_ readiness: Readiness) {
        if isConnecting {
            guard finishConnecting(readiness) else { return }
        }
        if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .failed]) {
            peerHasClosed = true
        }
        // No read finds this reset, because reading is paused or the end has been read already.
        if readiness.contains(.failed), reachedEnd || isReadingPaused {
            let error = csystem_socket_error(descriptor)
            if error != 0 {
                fail(SocketError(errno: -Int(error), "connection to \(peer)"))
                return
            }
        }
        if let tls {
            becameReady(readiness, tls)
            return
        }
        if readiness.contains(.writable), !isWritable {
            becameWritable()
        }
        if readiness.mayBeRead, !reachedEnd {
            becameReadable()
        }
    }

    private func becameReadable() {
        isReadable = true
        // The owner of a connection to a server may use it in this turn, and must know what has arrived.
        if readMuch, !isClient {
            readSoon()
        } else {
            read()
        }
    }

    private func becameWritable() {
        isWritable = true
        if output != nil || sharedOutput != nil || shutsDownWhenDrained {
            flushSoon()
        }
    }

    /// Reads the result of `connect`. Returns `false` if there is none yet, or if it is a failure.
    private func finishConnecting(_ readiness: Readiness) -> Bool {
        guard !readiness.isDisjoint(with: [.writable, .failed, .hangUp]) else { return false }
        let error = csystem_socket_error(descriptor)
        guard error == 0 else {
            fail(SocketError(errno: -Int(error), "connect to \(peer)"))
            return false
        }
        isConnecting = false
        if tls == nil {
            delegate?.streamConnected(self)
            flushSoon()
        }
        return true
    }

    /// Handles the readiness of a TLS stream. TLS may have to write before it can read, and vice versa.
    private func becameReady(_ readiness: Readiness, _ tls: TLSSession) {
        if readiness.mayBeRead {
            tls.becameReadable(isLast: peerHasClosed)
        }
        if isHandshaking {
            continueHandshake(tls)
            return
        }
        if readiness.contains(.writable) && !isWritable || readiness.mayBeRead && tls.writeWaitsForPeer {
            becameWritable()
        }
        if readiness.mayBeRead || readiness.contains(.writable) && tls.readWaitsForRoom, !reachedEnd {
            becameReadable()
        }
    }

    private func continueHandshake(_ tls: TLSSession) {
        let result = tls.handshake()
        guard result == 1 else {
            if result != -Int(EAGAIN) {
                fail(SocketError(.tls, "TLS with \(peer): \(tls.reason)"))
            }
            return
        }
        if isClient {
            delegate?.streamConnected(self)
        }
        flushSoon()
        // The peer may have sent data with the end of its handshake; no further edge reports them.
        isReadable = true
        read()
    }
}

extension Readiness {
    /// Whether a read will find bytes, an end or an error.
    fileprivate var mayBeRead: Bool { !isDisjoint(with: [.readable, .peerClosed, .hangUp, .failed]) }
}
