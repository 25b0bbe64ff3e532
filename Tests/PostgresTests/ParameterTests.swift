import ChatterdPostgres
import Testing

@Suite(.timeLimit(.minutes(30))) struct ParameterTests {
    private static let echo = Statement(
        "echo", .boolean, .int8, .double, .text, .bytes, .uuid, .timestamp,
        sql: "SELECT $1, $2, $3, $4, encode($5, 'hex'), $6, $7 AT TIME ZONE 'UTC'")
    private static let arrays = Statement(
        "arrays", .int8Array, .textArray, .uuidArray, .textArray, .int4Array, sql: "SELECT $1, $2, $3, $4, $5")
    private static let text = Statement("text", .text, sql: "SELECT $1, length($1), octet_length($1)")
    private static let binary = Statement(
        "binary", .int8, returnsBinary: true, sql: "SELECT $1, $1::int4, $1::int2, $1 IS NULL, 'é'::text")
    private static let integer = Statement("integer", .text, sql: "SELECT $1")

    @Test func everyTypeArrivesAsTheServerShowsIt() async throws {
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(
                Query(
                    Self.echo, .boolean(true), .int8(-42), .double(0.5), .text("héllo 👋"), .bytes([0, 1, 255]),
                    .uuid(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff),
                    .timestamp(microseconds: 1_700_000_000_123_456)))
            let fields = (0..<7).map { row.string(0, $0) }
            #expect(
                fields == [
                    "t", "-42", "0.5", "héllo 👋", "0001ff", "00112233-4455-6677-8899-aabbccddeeff",
                    "2023-11-14 22:13:20.123456",
                ])
            #expect(row.bool(0, 0) == true)
        }
    }

    @Test func nullIsNullOfEveryType() async throws {
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(
                Query(Self.echo, .null, .null, .null, .null, .null, .null, .null))
            for column in 0..<7 {
                #expect(row.isNull(0, column))
                #expect(row.string(0, column) == nil)
                #expect(row.int(0, column) == nil)
                let count = row.bytes(0, column).count
                #expect(count == 0)
            }
        }
    }

    @Test func arraysArriveWithAllTheirElements() async throws {
        var numbers = ParameterArray()
        for number: Int64 in [1, -2] {
            numbers.append(number)
        }
        var more = ParameterArray()
        more.append(Int64.max)
        let small: ParameterArray = {
            var small = ParameterArray()
            small.append(Int32.min)
            small.append(Int32(7))
            return small
        }()
        let parts = [numbers, ParameterArray(), more]
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(
                Query(
                    Self.arrays, .array(of: .int8, parts), .textArray(["a", "", "b c"]), .uuidArray([(0, 1)]),
                    .utf8Array([[0x78], []]), .array(of: .int4, [small])))
            let fields = (0..<5).map { row.string(0, $0) }
            #expect(
                fields == [
                    "{1,-2,9223372036854775807}", "{a,\"\",\"b c\"}", "{00000000-0000-0000-0000-000000000001}",
                    "{x,\"\"}", "{-2147483648,7}",
                ])
            let empty = try await pool.run(
                Query(
                    Self.arrays, .array(of: .int8, []), .textArray([]), .uuidArray([]), .utf8Array([]),
                    .array(of: .int4, [])))
            #expect((0..<5).allSatisfy { empty.string(0, $0) == "{}" })
        }
    }

    @Test func reusedArrayHoldsOnlyNewElements() async throws {
        var texts = ParameterArray()
        for _ in 0..<100 {
            texts.append(String(repeating: "x", count: 10_000))
        }
        texts.removeAll()
        #expect(texts.isEmpty)
        texts.append("y")
        let parts = [texts]
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(
                Query(Self.arrays, .null, .array(of: .text, parts), .null, .null, .null))
            #expect(row.string(0, 1) == "{y}")
        }
    }

    @Test func emptyTextIsNotNull() async throws {
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(Query(Self.text, .text("")))
            #expect(!row.isNull(0, 0))
            #expect(row.string(0, 0) == "")
        }
    }

    @Test func eightMebibytesComeBackByteForByte() async throws {
        let bytes = (0..<8_388_608).map { UInt8(truncatingIfNeeded: 32 &+ ($0 &* 31) % 95) }
        try await withPool(anyDatabase()) { pool in
            // Two at once, so that the second is sent while the first comes back.
            async let first = pool.run([Query(Self.text, .utf8(bytes)), Query(Self.text, .utf8(bytes))])
            async let second = pool.run([Query(Self.text, .utf8(bytes))])
            let results = try await first + second
            #expect(results.count == 3)
            for result in results {
                let isEqual = result.bytes(0, 0).withUnsafeBufferPointer { $0.elementsEqual(bytes) }
                #expect(isEqual)
            }
        }
    }

    @Test(arguments: [[0x61, 0x00, 0x62], [0xff], [0xed, 0xa0, 0x80]] as [[UInt8]])
    func textThatPostgreSQLCannotHoldIsRefused(_ bytes: [UInt8]) async throws {
        try await withPool(anyDatabase()) { pool in
            let error = try #require(await failure(of: pool, Query(Self.text, .utf8(bytes))))
            #expect(error.code == .invalidEncoding)
            #expect(!error.isSafeToRetry)
            // The connection continues.
            let next = try await pool.run(Query(Self.text, .text("x")))
            #expect(next.string(0, 0) == "x")
        }
    }

    @Test func binaryIntegersOfEverySizeAreRead() async throws {
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(Query(Self.binary, .int8(-300)))
            #expect((0..<3).map { row.int(0, $0) } == [-300, -300, -300])
            #expect(row.bool(0, 3) == false)
            #expect(row.string(0, 4) == "é")
        }
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
        ("9223372036854775808", nil), ("-9223372036854775809", nil), ("", nil), ("-", nil), ("1x", nil), ("+1", nil),
    ])
    func decimalIntegersAreExactOrNil(_ text: String, _ value: Int?) async throws {
        try await withPool(anyDatabase()) { pool in
            let row = try await pool.run(Query(Self.integer, .text(text)))
            #expect(row.int(0, 0) == value)
        }
    }
}
