// swift-tools-version: 6.2
import PackageDescription

/// A target imports only what stands before it in this file: see docs/architecture.md.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
    .treatAllWarnings(as: .error),
    // Debug builds, and so all tests, check exclusive access at run time; in release it costs a twelfth of a token.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

let package = Package(
    name: "chatterd",
    products: [
        .executable(name: "chatterd", targets: ["chatterd"])
    ],
    targets: [
        // C: module maps and the thinnest shims.
        .target(name: "CSystem"),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Bytes and JSON text: pure, no I/O.
        .target(name: "Bytes", swiftSettings: settings),
        // Descriptors, the shard, streams, TLS: nothing of HTTP.
        .target(name: "Sockets", dependencies: ["Bytes", "CSystem", "COpenSSL"], swiftSettings: settings),
        // RFC 9110, RFC 9112, SSE and NDJSON: pure, no I/O.
        .target(name: "HTTP", dependencies: ["Bytes"], swiftSettings: settings),
        .target(name: "HTTPServer", dependencies: ["Bytes", "Sockets", "HTTP"], swiftSettings: settings),
        .target(name: "HTTPClient", dependencies: ["Bytes", "Sockets", "HTTP"], swiftSettings: settings),
        .target(name: "Postgres", dependencies: ["Bytes", "Sockets", "CPostgres"], swiftSettings: settings),
        .target(
            name: "LanguageModels", dependencies: ["Bytes", "Sockets", "HTTP", "HTTPClient"], swiftSettings: settings),
        .target(name: "Relay", dependencies: ["Bytes", "LanguageModels"], swiftSettings: settings),
        .target(
            name: "ChatterdServer",
            dependencies: [
                "Bytes", "CSystem", "COpenSSL", "Sockets", "HTTP", "HTTPServer", "HTTPClient", "Postgres",
                "LanguageModels",
                "Relay",
            ],
            resources: [.embedInCode("Migrations")],
            swiftSettings: settings),
        .executableTarget(name: "chatterd", dependencies: ["ChatterdServer"], swiftSettings: settings),

        // Tests: one target a layer; TestSupport holds the private cluster, the scripted upstream and the raw client.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"], swiftSettings: settings),
        .testTarget(name: "BytesTests", dependencies: ["Bytes", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "SocketsTests", dependencies: ["Sockets", "Bytes", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "HTTPTests", dependencies: ["HTTP", "Bytes"], swiftSettings: settings),
        .testTarget(
            name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTP", "Sockets", "Bytes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPClientTests", dependencies: ["HTTPClient", "HTTP", "Sockets", "Bytes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "PostgresTests", dependencies: ["Postgres", "Sockets", "Bytes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "LanguageModelsTests",
            dependencies: ["LanguageModels", "HTTPClient", "HTTP", "Sockets", "Bytes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RelayTests", dependencies: ["Relay", "LanguageModels", "Bytes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "ChatterdServerTests",
            dependencies: [
                "ChatterdServer", "Relay", "LanguageModels", "Postgres", "HTTP", "Sockets", "Bytes", "TestSupport",
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
