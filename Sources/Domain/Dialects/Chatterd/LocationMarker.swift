import ChatterdBasics

/// Finds the place that an answer names by `WINNER!!!:lat:lon:`, the marker of the course's game, in a text that comes in pieces.
///
/// It reads the insides of JSON strings: no byte of the marker needs an escape. The first marker with numbers of degrees counts.
struct LocationMarker {
    private static let opening: StaticString = "WINNER!!!:"
    /// The limit of the two numbers with their colons and spaces, in bytes.
    private static let longestPlace = 64

    /// The number of bytes of the opening that the text ends with.
    private var matched = 0
    /// What follows the opening, up to the second colon; `nil` outside of a marker.
    private var place: [UInt8]?
    private var colons = 0

    /// The latitude and the longitude, once they are found.
    private(set) var location: (latitude: Degrees, longitude: Degrees)?

    /// Whether text without the first byte of a marker changes nothing.
    var isBetweenMarkers: Bool { matched == 0 && place == nil }
    /// The byte that a marker begins with.
    static let firstByte = UInt8(ascii: "W")

    /// Reads the next piece of the text.
    mutating func read(_ text: Span<UInt8>) {
        guard location == nil else { return }
        var index = 0
        if isBetweenMarkers {
            // Most texts have no marker.
            while index < text.count, text[index] != Self.firstByte { index += 1 }
        }
        while index < text.count, location == nil {
            read(text[index])
            index += 1
        }
    }

    private mutating func read(_ byte: UInt8) {
        if place == nil {
            // The first byte occurs in the opening only once, so that a wrong byte can begin another opening at most.
            if byte == Self.opening.utf8Start[matched] {
                matched += 1
                guard matched == Self.opening.utf8CodeUnitCount else { return }
                (matched, colons, place) = (0, 0, [])
            } else if matched > 0 {
                matched = byte == Self.firstByte ? 1 : 0
            }
        } else {
            readPlace(byte)
        }
    }

    private mutating func readPlace(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: ":"): colons += 1
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: " "): break
        default:
            place = nil
            matched = byte == Self.firstByte ? 1 : 0
            return
        }
        guard colons < 2 else {
            location = place.flatMap(Self.location)
            place = nil
            return
        }
        if place?.count == Self.longestPlace { place = nil } else { place?.append(byte) }
    }

    /// The numbers of a place on the earth; `nil` for other ones.
    private static func location(in place: [UInt8]) -> (latitude: Degrees, longitude: Degrees)? {
        let parts = place.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 2, let latitude = Degrees(latitude: parts[0]),
            let longitude = Degrees(longitude: parts[1])
        else { return nil }
        return (latitude, longitude)
    }
}
