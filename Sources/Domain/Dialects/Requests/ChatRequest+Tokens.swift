import ChatterdBasics
import ChatterdChat
import ChatterdRelay

extension ChatRequest {
    /// The tokens that the messages and the tools may have, one at least: no model has counted them yet, and each model counts in its own
    /// way. It reads the images, so it takes time for each byte of the request.
    var estimatedTokens: Int {
        var (bytes, images) = (0, 0)
        for message in messages {
            let extras = message.extras ?? ""
            let pictures = Self.images(in: extras)
            bytes += message.content.utf8.count + extras.utf8.count - pictures.bytes
            images += pictures.count
        }
        for member in passThrough where member.key == "tools" { bytes += member.value.count }
        return Int(Double(bytes) / ContextWindow.usualBytesPerToken) + ContextWindow.usualImageTokens * images + 1
    }

    /// The number of the images of a message, and the bytes of their JSON.
    private static func images(in extras: String) -> (count: Int, bytes: Int) {
        guard !extras.isEmpty, let members = (try? JSONSlice(Array("{\(extras)}".utf8)))?.members(),
            let images = members["images"], let list = images.elements(atMost: maximumImages)
        else { return (0, 0) }
        return (list.count, images.range.count)
    }
}
