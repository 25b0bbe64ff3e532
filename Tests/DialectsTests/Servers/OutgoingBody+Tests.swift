import ChatterdBasics
import ChatterdHTTP

extension OutgoingBody {
    /// All parts together.
    var joined: ByteBuffer {
        var joined = ByteBuffer()
        for part in parts {
            joined.append(part.bytes)
        }
        return joined
    }

    /// All parts together, as text.
    var string: String { joined.string }
}
