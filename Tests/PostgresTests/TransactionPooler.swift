import ChatterdTestSupport
import Glibc

/// A pooler like PgBouncer in transaction mode: between two transactions of a client it discards the state of the session, and it invents
/// the process numbers that clients get.
///
/// It ends a client that sends before its transaction is answered. PgBouncer would pass the first half of such a message to the session,
/// and could lend the session to another client then.
///
/// It supports no password and no TLS.
final class TransactionPooler: Sendable {
    private let listener: BoundPort
    private let stopped = Gate()
    /// Once it is open, each client learns at its next transaction that its server is lost, although the transaction is done.
    let losesServer = Gate()

    /// Listens for clients of the server whose socket is in `directory`.
    init(toSocketIn directory: String) throws {
        listener = try BoundPort(backlog: 16)
        startThread { [listener, stopped, losesServer] in
            while let client = listener.accept(unless: stopped) {
                startThread {
                    guard let server = try? TCPConnection.connect(path: "\(directory)/.s.PGSQL.5432") else { return }
                    Session(client: client, server: server, losesServer: losesServer).run()
                }
            }
        }
    }

    deinit {
        stopped.open()
    }

    /// The conninfo of a database behind the pooler.
    func conninfo(database: String) -> String {
        "host=127.0.0.1 port=\(listener.port) user=postgres sslmode=disable dbname=\(database)"
    }

    /// One client with its connection to the server, on a separate thread.
    private final class Session {
        private let client: MessageStream
        private let server: MessageStream
        private let losesServer: Gate

        init(client: TCPConnection, server: TCPConnection, losesServer: Gate) {
            (self.client, self.server) = (MessageStream(client), MessageStream(server))
            self.losesServer = losesServer
        }

        func run() {
            guard let startup = client.next(isTyped: false) else { return }
            server.send(startup)
            while passAnswer(), let isOver = passRequest(), !isOver {
                guard losesServer.isOpen else { continue }
                while let message = server.next(), message[0] != UInt8(ascii: "Z") {}
                let fields = Array("SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0".utf8)
                client.send([UInt8(ascii: "E"), 0, 0, 0, UInt8(fields.count + 4)] + fields)
                return client.close()
            }
        }

        /// Passes the client's messages up to the one that the server answers with ReadyForQuery; `true` when the client disconnects.
        private func passRequest() -> Bool? {
            while let message = client.next() {
                server.send(message)
                if message[0] == UInt8(ascii: "X") { return true }
                if [UInt8(ascii: "S"), UInt8(ascii: "Q")].contains(message[0]) { return false }
            }
            return nil
        }

        /// Passes the server's messages up to ReadyForQuery, and ends the session's state with the transaction.
        private func passAnswer() -> Bool {
            while var message = server.next() {
                // BackendKeyData begins with the process number.
                if message[0] == UInt8(ascii: "K") { message[5] ^= 0x40 }
                guard message[0] != UInt8(ascii: "Z") || !client.hasInput else {
                    client.close()
                    return false
                }
                client.send(message)
                guard message[0] == UInt8(ascii: "Z") else { continue }
                return message[5] != UInt8(ascii: "I") || discardAll()
            }
            return false
        }

        private func discardAll() -> Bool {
            let query = Array("DISCARD ALL".utf8) + [0]
            server.send([UInt8(ascii: "Q"), 0, 0, 0, UInt8(query.count + 4)] + query)
            while let message = server.next() {
                if message[0] == UInt8(ascii: "Z") { return true }
            }
            return false
        }
    }
}

/// Messages of PostgreSQL's protocol on a connection, each with its type and length.
private final class MessageStream {
    private let connection: TCPConnection
    private var buffer: [UInt8] = []

    init(_ connection: TCPConnection) {
        self.connection = connection
    }

    func send(_ message: [UInt8]) {
        connection.send(message)
    }

    func close() {
        connection.close()
    }

    /// Whether the peer has sent more than the messages that were taken.
    var hasInput: Bool { !buffer.isEmpty || connection.hasInput }

    /// The next whole message; `nil` when the connection has ended. A startup message has no type.
    func next(isTyped: Bool = true) -> [UInt8]? {
        let start = isTyped ? 1 : 0
        while true {
            if buffer.count >= start + 4 {
                let length = start + buffer[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
                if buffer.count >= length {
                    defer { buffer.removeFirst(length) }
                    return Array(buffer[..<length])
                }
            }
            guard case .bytes(let bytes) = connection.receive(upTo: 600) else { return nil }
            buffer += bytes
        }
    }
}
