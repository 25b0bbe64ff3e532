import Testing

@testable import ChatterdConfiguration

/// The available memory according to the system's files.
@Suite(.timeLimit(.minutes(30))) struct SystemMemoryTests {
    private func available(_ files: [String: String]) -> Int {
        SystemMemory(read: { files[$0] }, machine: 1 << 34).available
    }

    @Test func machineMemoryCountsWithoutALimit() {
        #expect(available([:]) == 1 << 34)
        #expect(available(["/sys/fs/cgroup/memory.max": "max\n"]) == 1 << 34)
        #expect(available(["/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"]) == 1 << 34)
    }

    @Test func limitOfAContainerCounts() {
        #expect(available(["/sys/fs/cgroup/memory.max": "536870912\n"]) == 1 << 29)
        #expect(available(["/sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"]) == 1 << 29)
    }

    @Test func limitsOfAServiceAndOfItsParentGroupsCount() {
        let files = [
            "/proc/self/cgroup": "0::/system.slice/chatterd.service\n",
            "/sys/fs/cgroup/system.slice/chatterd.service/memory.max": "1073741824\n",
            "/sys/fs/cgroup/system.slice/memory.max": "max\n",
        ]
        #expect(available(files) == 1 << 30)
        #expect(available(files.merging(["/sys/fs/cgroup/system.slice/memory.max": "268435456"]) { $1 }) == 1 << 28)
    }

    @Test func limitOfAControlGroupOfVersionOneCounts() {
        let files = [
            "/proc/self/cgroup": "9:cpu:/x\n7:memory:/docker/abc\n",
            "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1073741824\n",
        ]
        #expect(available(files) == 1 << 30)
    }

    @Test func budgetIsHalfOfTheMemory() {
        #expect(SystemMemory(read: { _ in nil }, machine: 1 << 34).budget == 1 << 33)
    }
}
