import ChatterClient
import Glibc

/// The commands `export` and `import`.
struct ConversationFile {
    let client: ChatterClient
    let console: Console

    /// Writes a conversation to standard output, and checks that its last line has come.
    func export(_ conversation: String) async throws(ChatterError) -> ExitCode {
        var end = LastLine()
        var text = PiecewiseText()
        do {
            for try await piece in client.export(conversation) {
                if console.isTerminal {
                    console.write(json: text.append(piece))
                } else {
                    try writeAll(piece)
                }
                end.append(piece)
            }
            console.write(json: text.finish())
        } catch let error as FileError {
            console.report(error.message)
            return .failed
        } catch {
            throw error as? ChatterError ?? .malformed("\(error)")
        }
        guard end.text.hasPrefix("{\"end\":true") else {
            console.report("the export is not whole: \(end.text)")
            return .serverFailed
        }
        return .done
    }

    /// Stores a file as a new conversation; `-` is standard input.
    func importFile(_ path: String, as name: String?) async throws(ChatterError) -> ExitCode {
        let descriptor = path == "-" ? 0 : open(path, O_RDONLY)
        guard descriptor >= 0 else {
            console.report("\(path) cannot be read: \(String(cString: strerror(errno)))")
            return .failed
        }
        defer { if descriptor != 0 { close(descriptor) } }
        var parts = FileParts()
        var target = name
        var result: ImportResult?
        while true {
            let bytes: [UInt8]
            do throws(FileError) {
                bytes = try readPiece(descriptor)
            } catch {
                console.report("\(path) cannot be read: \(error.message)")
                return .failed
            }
            let isOver = bytes.isEmpty
            guard let part = isOver ? parts.finish() : parts.append(bytes) else { continue }
            if target == nil {
                target = Self.name(in: part)
            }
            guard let target else {
                console.report("\(path) is not an exported conversation: its first line has no name")
                return .refused
            }
            if !part.isEmpty {
                result = try await client.importConversation(as: target, part, isPart: !isOver || result != nil)
            }
            if isOver { break }
        }
        guard let result, result.complete else {
            console.report("the file is cut: its last line is missing. What it has is stored")
            return .refused
        }
        console.write(foreign: "\(result.conversation)\n")
        return .done
    }

    /// The name in the first line of a file.
    private static func name(in file: [UInt8]) -> String? {
        let line = Array(file.prefix { $0 != UInt8(ascii: "\n") })
        guard case .object(let header)? = JSONValue(parsing: line), case .string(let name)? = header["conversation"]
        else { return nil }
        return name
    }

    private func readPiece(_ descriptor: Int32) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = read(descriptor, &bytes, bytes.count)
            if count >= 0 { return Array(bytes.prefix(count)) }
            guard errno == EINTR else { throw FileError() }
        }
    }

    private func writeAll(_ bytes: [UInt8]) throws(FileError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(1, $0.baseAddress.map { $0 + sent }, bytes.count - sent) }
            if count > 0 {
                sent += count
            } else if errno != EINTR {
                throw FileError()
            }
        }
    }

    /// A failure of the system, as `errno` had it.
    private struct FileError: Error {
        let message = String(cString: strerror(errno))
    }
}
