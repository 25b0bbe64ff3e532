import ChatterdBasics

/// Encodes records as lines of JSON.
struct LogEncoder: Sendable {
    private let appID: Log.AppID
    /// The texts that no line may show. Keys are added while the process runs.
    private let secrets: Lock<[String]>
    /// Random for each process: appIDs are easily guessed, so a hash that others can compute would hide nothing.
    private let salt = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Bytes of a text that are kept, so that a pipe takes a line in one piece.
    private static let longText = 600
    private static let shortText = 160

    init(appID: Log.AppID, secrets: [String]) {
        self.appID = appID
        self.secrets = Lock([])
        conceal(secrets)
    }

    /// Removes these texts too from now on.
    func conceal(_ texts: [String]) {
        secrets.withLock { secrets in
            // A very short text would remove half the log.
            secrets += Set(texts).filter { $0.utf8.count >= 4 && !secrets.contains($0) }
            // The longest first: a text may be part of another one.
            secrets.sort { $0.utf8.count > $1.utf8.count }
        }
    }

    func append(_ request: Log.Request, stamp: LogTimestamp, to buffer: inout ByteBuffer) {
        buffer.append("{\"time\":\"")
        stamp.append(to: &buffer)
        buffer.append("\",\"level\":\"info\",\"msg\":\"request\",\"id\":")
        append(request.id, limit: Self.shortText, to: &buffer)
        buffer.append(",\"route\":")
        buffer.append(jsonString: request.route.text)
        buffer.append(",\"method\":")
        append(request.method, limit: Self.shortText, to: &buffer)
        buffer.append(",\"status\":")
        buffer.append(decimal: request.status)
        if let app = request.appID {
            append(appID: app, to: &buffer)
        }
        buffer.append(",\"bytes_in\":")
        buffer.append(decimal: request.bytesIn)
        buffer.append(",\"bytes_out\":")
        buffer.append(decimal: request.bytesOut)
        if let firstByte = request.firstByte {
            buffer.append(",\"first_byte_ms\":")
            append(milliseconds: firstByte, to: &buffer)
        }
        buffer.append(",\"total_ms\":")
        append(milliseconds: request.total, to: &buffer)
        buffer.append(",\"code\":")
        buffer.append(jsonString: request.code.text)
        buffer.append("}\n")
    }

    func append(
        _ level: Log.Level, _ message: StaticString, _ fields: [Log.Field], stamp: LogTimestamp,
        to buffer: inout ByteBuffer
    ) {
        buffer.append("{\"time\":\"")
        stamp.append(to: &buffer)
        buffer.append("\",\"level\":")
        buffer.append(jsonString: level.rawValue)
        buffer.append(",\"msg\":")
        buffer.append(jsonString: message.description)
        for field in fields {
            append(field, to: &buffer)
        }
        buffer.append("}\n")
    }

    private func append(_ field: Log.Field, to buffer: inout ByteBuffer) {
        switch field {
        case .id(let text): append(",\"id\":", text, to: &buffer)
        case .appID(let text): append(appID: text, to: &buffer)
        case .upstream(let text): append(",\"upstream\":", text, to: &buffer)
        case .model(let text): append(",\"model\":", text, to: &buffer)
        case .address(let text): append(",\"address\":", text, to: &buffer)
        case .version(let text): append(",\"version\":", text, to: &buffer)
        case .code(let word): append(",\"code\":", word.text, to: &buffer)
        case .subject(let word): append(",\"subject\":", word.text, to: &buffer)
        case .count(let number): append(",\"count\":", number, to: &buffer)
        case .bytes(let number): append(",\"bytes\":", number, to: &buffer)
        case .attempt(let number): append(",\"attempt\":", number, to: &buffer)
        case .milliseconds(let number): append(",\"ms\":", number, to: &buffer)
        case .detail(let text):
            buffer.append(",\"detail\":")
            append(withoutSecrets(text), limit: Self.longText, to: &buffer)
        case .error(let text):
            buffer.append(",\"error\":")
            append(withoutSecrets(text), limit: Self.longText, to: &buffer)
        }
    }

    private func append(_ key: StaticString, _ text: String, to buffer: inout ByteBuffer) {
        buffer.append(key)
        append(text, limit: Self.shortText, to: &buffer)
    }

    private func append(_ key: StaticString, _ number: Int, to buffer: inout ByteBuffer) {
        buffer.append(key)
        buffer.append(decimal: number)
    }

    private func withoutSecrets(_ text: String) -> String {
        var text = text
        for secret in secrets.withLock({ $0 }) {
            text.replace(secret, with: "(secret)")
        }
        return text
    }

    /// Appends a text from outside, cut to `limit` bytes of UTF-8.
    private func append(_ text: String, limit: Int, to buffer: inout ByteBuffer) {
        guard text.utf8.count > limit else {
            buffer.append(jsonString: text)
            return
        }
        var end = text.utf8.index(text.startIndex, offsetBy: limit)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        buffer.append(jsonString: text[..<end] + "…")
    }

    private func append(appID text: String, to buffer: inout ByteBuffer) {
        switch appID {
        case .none: return
        case .plain: append(",\"app\":", text, to: &buffer)
        case .hash:
            buffer.append(",\"app\":\"")
            append(hex: hash(text) >> 16, digits: 12, to: &buffer)
            buffer.append("\"")
        }
    }

    /// SipHash, a keyed hash, of the salt and the text.
    private func hash(_ text: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(salt.0)
        hasher.combine(salt.1)
        hasher.combine(text)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private func append(hex value: UInt64, digits: Int, to buffer: inout ByteBuffer) {
        for shift in stride(from: (digits - 1) * 4, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 0x0F
            buffer.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// Appends a duration in milliseconds with three decimals.
    private func append(milliseconds duration: Duration, to buffer: inout ByteBuffer) {
        let microseconds = Int(clamping: duration.nanoseconds / 1_000)
        buffer.append(decimal: microseconds / 1_000)
        buffer.append(UInt8(ascii: "."))
        LogTimestamp.append(microseconds % 1_000, digits: 3, to: &buffer)
    }
}
