import Glibc

/// A gate that a test opens once. All waiting threads then continue, so that no test has to sleep for the right timing.
public final class Gate: @unchecked Sendable {
    private let reader: Int32
    private let writer: Int32

    /// Creates a closed gate.
    public init() {
        (reader, writer) = makePipe()
    }

    deinit {
        close(reader)
        close(writer)
    }

    /// Opens the gate for all waiters. A second call has no effect.
    public func open() {
        var byte: UInt8 = 1
        // The pipe does not block. If it is full, the gate is open already.
        _ = write(writer, &byte, 1)
    }

    /// Whether the gate has been opened.
    public var isOpen: Bool {
        waitForAny([(reader, Int16(POLLIN))], upTo: 0) != nil
    }

    /// Blocks the thread until the gate is open; returns `false` if it is closed after `seconds`.
    @discardableResult
    public func wait(upTo seconds: Double = testTimeout) -> Bool {
        waitForAny([(reader, Int16(POLLIN))], upTo: seconds) != nil
    }

    /// Becomes readable when the gate opens.
    var descriptor: Int32 { reader }
}

/// A pipe that children do not inherit and whose writing end does not block.
func makePipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "no descriptors left for a pipe")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    return (ends[0], ends[1])
}

/// Blocks until one of the descriptors has one of its events, and returns its index; `nil` after the timeout.
func waitForAny(_ descriptors: [(fd: Int32, events: Int16)], upTo seconds: Double) -> Int? {
    var polled = descriptors.map { pollfd(fd: $0.fd, events: $0.events, revents: 0) }
    let deadline = monotonicSeconds() + seconds
    while true {
        let left = max(0, deadline - monotonicSeconds())
        let ready = poll(&polled, nfds_t(polled.count), Int32(min(left * 1000, 1_000_000).rounded(.up)))
        if ready > 0 { return polled.firstIndex { $0.revents != 0 } }
        if ready == 0 && left == 0 { return nil }
        if ready < 0 && errno != EINTR { return nil }
    }
}

/// CLOCK_MONOTONIC in seconds.
public func monotonicSeconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1_000_000_000
}
