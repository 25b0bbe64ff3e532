import Glibc

/// An IPv4 or IPv6 address with a port.
public struct SocketAddress: Sendable, CustomStringConvertible {
    /// The larger of the two kinds. Every stream stores one, so the memory counts.
    private var storage = sockaddr_in6()
    private let length: socklen_t

    init(_ any: sockaddr_storage, length: socklen_t) {
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_in6>.size))
        withUnsafeMutableBytes(of: &storage) { storage in
            withUnsafeBytes(of: any) {
                storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<storage.count]))
            }
        }
    }

    /// Creates the address of a numeric host; `nil` for a name.
    public init?(numericHost host: String, port: UInt16) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, host, &v4) == 1 {
            let address = sockaddr_in(
                sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian, sin_addr: v4,
                sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
        } else if inet_pton(AF_INET6, host, &v6) == 1 {
            let address = sockaddr_in6(
                sin6_family: sa_family_t(AF_INET6), sin6_port: port.bigEndian, sin6_flowinfo: 0, sin6_addr: v6,
                sin6_scope_id: 0)
            storage = address
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        } else {
            return nil
        }
    }

    /// The address family, `AF_INET` or `AF_INET6`.
    public var family: Int32 { Int32(storage.sin6_family) }

    public var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            // sin_port and sin6_port have the same offset.
            UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }

    /// The numeric host.
    public var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        withUnsafeBytes(of: storage) { bytes in
            guard let base = bytes.baseAddress else { return }
            _ = inet_ntop(family, base + (family == AF_INET ? 4 : 8), &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// `host:port`, the host of IPv6 in brackets.
    public var description: String { family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the address is valid on its own link only: 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291), also as IPv4 inside
    /// IPv6. Clouds have their metadata services there.
    public var isLinkLocal: Bool {
        if let v4 = v4Bytes { return v4[0] == 169 && v4[1] == 254 }
        let bytes = v6Bytes
        return bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// Whether a cloud has its metadata service at this address, which is not link-local.
    public var isMetadataService: Bool {
        if let v4 = v4Bytes { return v4 == [100, 100, 100, 200] }
        return v6Bytes == [0xFD, 0, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54]
    }

    /// Whether the address belongs to a machine of the Internet, as far as the registries of special addresses say (RFC 6890): not to this
    /// machine, a private or link-local network, a group, a protocol or a document.
    public var isPublic: Bool {
        if let v4 = v4Bytes {
            switch (v4[0], v4[1], v4[2]) {
            case (0, _, _), (10, _, _), (127, _, _), (224..., _, _), (169, 254, _), (172, 16..<32, _), (192, 168, _),
                (100, 64..<128, _), (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18..<20, _), (198, 51, 100),
                (203, 0, 113):
                return false
            default: return true
            }
        }
        // Global unicast is 2000::/3. Teredo (2001::/32), documents (2001:db8::/32, 3fff::/20) and 6to4 (2002::/16) are parts of it that name
        // no machine, or that name one by an IPv4 address.
        let bytes = v6Bytes
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0, 0), (0x20, 0x01, 0x0D, 0xB8), (0x20, 0x02, _, _), (0x3F, 0xFF, 0..<0x10, _): return false
        default: return true
        }
    }

    /// The IPv4 address, also one that is mapped into IPv6 (RFC 4291 2.5.5) or translated (RFC 6052 2.1); `nil` for any other.
    private var v4Bytes: [UInt8]? {
        guard family == AF_INET6 else { return withUnsafeBytes(of: storage) { Array($0[4..<8]) } }
        let bytes = v6Bytes
        let zeros = [UInt8](repeating: 0, count: 10)
        let isMapped = bytes.starts(with: zeros + [0xFF, 0xFF])
        // ::1 and :: have the form of the former IPv4-compatible addresses. They are not link-local in either reading.
        let isCompatible = bytes.starts(with: zeros + [0, 0])
        let isTranslated = bytes.starts(with: [0, 0x64, 0xFF, 0x9B] + zeros.prefix(8))
        return isMapped || isCompatible || isTranslated ? Array(bytes[12...]) : nil
    }

    private var v6Bytes: [UInt8] {
        withUnsafeBytes(of: storage) { Array($0[8..<24]) }
    }

    /// Lends the address to a system call.
    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The address that a descriptor is bound to.
    static func bound(_ descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return status == 0 ? SocketAddress(storage, length: length) : nil
    }
}
