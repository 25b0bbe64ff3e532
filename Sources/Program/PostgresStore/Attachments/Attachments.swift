import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdPostgres

/// The large images of the messages that a transaction stores.
///
/// An app has each image once, as an attachment. The stored messages have references in their place: such a text begins with `mark`, the size
/// of the members, and `mark`; each reference is a digest in hexadecimal between two more of them. JSON has no such byte, so no member of a
/// client can look like a reference (docs/decisions/0052-attachments.md).
struct Attachments {
    /// The size from which an image is an attachment, in bytes of its text. Smaller ones stay in their messages.
    static let minimumSize = 1_024
    /// The byte before the size, and before and after each digest.
    static let mark: UInt8 = 0x01

    /// The digests in hexadecimal, without duplicates.
    private(set) var digests = ParameterArray()
    /// The texts of the images, in the order of the digests.
    private(set) var contents = ParameterArray()
    private var known: Set<SHA256Digest> = []

    var isEmpty: Bool { known.isEmpty }

    /// Collects the large images of messages.
    ///
    /// - Returns: the messages with references in their place.
    mutating func detach(from messages: [ModelMessage]) -> [ModelMessage] {
        var stored = messages
        for index in messages.indices {
            if let extras = messages[index].extras, let members = detach(from: extras.utf8.span) {
                stored[index].extras = members.string
            }
        }
        return stored
    }

    /// Collects the large images of a message.
    ///
    /// - Parameter members: the further members of the message, as JSON text without braces.
    /// - Returns: the members with references in the place of the images; `nil` without a large image.
    mutating func detach(from members: Span<UInt8>) -> ByteBuffer? {
        let images = Self.largeImages(in: members)
        guard !images.isEmpty else { return nil }
        var stored = ByteBuffer()
        stored.append(Self.mark)
        stored.append(decimal: members.count)
        stored.append(Self.mark)
        var end = 0
        for image in images {
            stored.append(members.extracting(end..<image.lowerBound))
            stored.append(Self.mark)
            stored.append(utf8: attach(members.extracting(image)))
            stored.append(Self.mark)
            end = image.upperBound
        }
        stored.append(members.extracting(end..<members.count))
        return stored
    }

    /// Adds an image, unless it is known.
    ///
    /// - Returns: its digest in hexadecimal.
    private mutating func attach(_ image: Span<UInt8>) -> String {
        let digest = SHA256Digest(of: image)
        let text = String(hexadecimal: digest.bytes)
        if known.insert(digest).inserted {
            digests.append(text)
            contents.append(utf8: image)
        }
        return text
    }

    /// The texts of the large images between their quotes, in order.
    private static func largeImages(in members: Span<UInt8>) -> [Range<Int>] {
        guard members.count >= minimumSize else { return [] }
        var images: [Range<Int>] = []
        var reader = JSONReader(members)
        do throws(JSONError) {
            while let name = try reader.nextMember() {
                guard reader.matches(name, "images"), try reader.kind() == .array else {
                    try reader.skipValue()
                    continue
                }
                try reader.beginArray()
                while try reader.nextElement() {
                    if let image = try reader.stringOrSkip(), image.range.count >= minimumSize {
                        images.append(image.range)
                    }
                }
            }
        } catch {
            // The decoder of the request has checked the text, so there is no such text.
            return []
        }
        return images
    }
}
