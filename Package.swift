// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
    .treatAllWarnings(as: .error),
]

/// A target of Swift code. Its folder has the short name; its module has the prefix `Chatterd`, because SwiftPM refuses a package
/// graph in which two packages declare targets of one name.
func target(_ name: String, _ dependencies: [String] = [], resources: [Resource] = []) -> Target {
    .target(
        name: "Chatterd\(name)", dependencies: dependencies.map(module), path: "Sources/\(name)", resources: resources,
        swiftSettings: settings)
}

/// The tests of a target.
func tests(of name: String, _ dependencies: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: ([name, "TestSupport"] + dependencies).map(module), swiftSettings: settings)
}

/// The module of a folder.
func module(_ folder: String) -> Target.Dependency { .target(name: moduleName(folder)) }

/// A module of our own sockets. On Apple's systems the libraries use URLSession instead.
func linuxModule(_ folder: String) -> Target.Dependency {
    .target(name: moduleName(folder), condition: .when(platforms: [.linux]))
}

/// `CSystem` is `CChatterdSystem`, and `HTTP` is `ChatterdHTTP`.
func moduleName(_ folder: String) -> String {
    let cModules = [
        "CSystem": "CChatterdSystem", "COpenSSL": "CChatterdOpenSSL", "CPostgres": "CChatterdPostgres",
        "CEdit": "CChatterdEdit",
    ]
    return cModules[folder] ?? "Chatterd\(folder)"
}

/// What the tests of the whole program import.
let serverTests = [
    "Server", "Command", "PostgresStore", "Configuration", "DevelopmentCluster", "JSONLog", "Relay", "Identity",
    "Cryptography", "LanguageModels", "ModelServers", "Doors", "Page", "Postgres", "HTTPServer", "HTTP", "Sockets",
    "Basics", "TestSupport",
]

/// Layers, the lowest first: a target depends only on targets above it in this list. docs/architecture.md shows the graph.
let package = Package(
    name: "chatterd",
    // Of the libraries. The programs run on Linux.
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .executable(name: "chatterd", targets: ["chatterd"]),
        .executable(name: "chatter", targets: ["chatter"]),
        .library(name: "ChatterClient", targets: ["ChatterClient"]),
        .library(name: "ChatterModels", targets: ["ChatterModels"]),
        .library(name: "ChatterMacros", targets: ["ChatterMacros"]),
        .library(name: "ChatterFoundationModels", targets: ["ChatterFoundationModels"]),
    ],
    targets: [
        // C: module maps and the thinnest shims.
        .target(name: "CChatterdSystem", path: "Sources/CSystem"),
        .target(
            name: "CChatterdOpenSSL", path: "Sources/COpenSSL",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CChatterdEdit", path: "Sources/CEdit", linkerSettings: [.linkedLibrary("edit")]),
        // Without `pkgConfig`: it would warn in the build of a package that uses a library and has no libpq.
        .systemLibrary(name: "CChatterdPostgres", path: "Sources/CPostgres", providers: [.apt(["libpq-dev"])]),

        // Pure: no I/O.
        target("Basics"),
        target("HTTP", ["Basics"]),
        target("Identity", ["Basics"]),
        target("LanguageModels", ["Basics", "Identity"]),
        target("Relay", ["Basics", "Identity", "LanguageModels"]),
        target("JSONLog", ["Basics"]),
        target("Page", resources: [.embedInCode("Files")]),

        // OpenSSL's cryptography; no I/O other than random bytes of the system.
        target("Cryptography", ["Basics", "COpenSSL"]),
        // Pure: of cryptography it uses digests.
        target("Doors", ["Basics", "HTTP", "Identity", "LanguageModels", "Relay", "Cryptography"]),

        // Sockets, and the protocols over them.
        target("Sockets", ["Basics", "CSystem", "COpenSSL"]),
        target("HTTPServer", ["Basics", "Sockets", "HTTP"]),
        target("HTTPClient", ["Basics", "Sockets", "HTTP"]),
        target("Postgres", ["Basics", "Sockets", "CPostgres"]),

        // The client of apps and of the terminal.
        .target(
            name: "ChatterClient",
            dependencies: ["Basics", "HTTP"].map(module) + ["Sockets", "HTTPClient"].map(linuxModule),
            swiftSettings: settings),
        // One API for any model, for apps.
        .target(
            name: "ChatterModels", dependencies: [.target(name: "ChatterClient")] + ["Basics", "HTTP"].map(module),
            swiftSettings: settings),
        // Its models for Apple's FoundationModels; elsewhere only the mapping, which is tested.
        .target(
            name: "ChatterFoundationModels", dependencies: [.target(name: "ChatterModels")], swiftSettings: settings),
        // Its macros. The plugin runs in the compiler and speaks its protocol itself, without swift-syntax. No test may depend on the
        // plugin directly: SwiftPM would build all modules of all tests a second time.
        target("MacroExpansion", ["Basics"]),
        .macro(
            name: "ChatterdMacroPlugin", dependencies: [module("MacroExpansion")], path: "Sources/MacroPlugin",
            swiftSettings: settings),
        .target(
            name: "ChatterMacros", dependencies: [.target(name: "ChatterModels"), module("MacroPlugin")],
            swiftSettings: settings),
        .target(
            name: "ChatterdTerminal",
            dependencies: [.target(name: "ChatterClient"), module("Basics"), module("Sockets"), module("CEdit")],
            path: "Sources/Terminal", swiftSettings: settings),
        .executableTarget(name: "chatter", dependencies: [module("Terminal")], swiftSettings: settings),

        // The relay's two sides: model servers and the database.
        target("ModelServers", ["Basics", "Sockets", "HTTP", "HTTPClient", "LanguageModels"]),
        target(
            "PostgresStore", ["Basics", "Identity", "Cryptography", "Sockets", "LanguageModels", "Relay", "Postgres"],
            resources: [.embedInCode("Migrations")]),

        // The program.
        target(
            "Configuration",
            [
                "Basics", "Identity", "Sockets", "HTTP", "HTTPServer", "LanguageModels", "ModelServers", "Relay",
                "JSONLog",
            ]),
        target("DevelopmentCluster", ["CSystem"]),
        target(
            "Server",
            [
                "Basics", "Identity", "CSystem", "Cryptography", "Sockets", "HTTP", "HTTPServer", "HTTPClient",
                "Postgres",
                "LanguageModels", "ModelServers", "Relay", "Doors", "PostgresStore", "JSONLog", "Configuration",
                "Page",
            ],
            resources: [.embedInCode("Routes/openapi.json")]),
        target(
            "Command",
            [
                "Basics", "Identity", "CSystem", "Cryptography", "Sockets", "HTTP", "HTTPClient", "Postgres",
                "LanguageModels",
                "ModelServers",
                "Relay", "PostgresStore", "JSONLog", "Configuration", "DevelopmentCluster", "Server",
            ]),
        .executableTarget(name: "chatterd", dependencies: [module("Command")], swiftSettings: settings),

        // Tests. TestSupport has the private cluster, the scripted upstream and the raw client.
        .target(
            name: "ChatterdTestSupport",
            dependencies: ["DevelopmentCluster", "LanguageModels", "Identity", "Basics", "CPostgres"].map(module),
            path: "Tests/TestSupport",
            swiftSettings: settings),
        .testTarget(
            name: "TestSupportTests", dependencies: [module("TestSupport")], swiftSettings: settings),
        tests(of: "Basics"),
        tests(of: "HTTP", ["Basics"]),
        tests(of: "Identity", ["Basics"]),
        tests(of: "Cryptography", ["Basics", "Identity"]),
        tests(of: "Sockets", ["Basics"]),
        tests(of: "HTTPServer", ["HTTP", "Sockets", "Basics"]),
        tests(of: "HTTPClient", ["HTTP", "Sockets", "Basics"]),
        tests(of: "Postgres", ["Sockets", "Basics"]),
        tests(of: "LanguageModels", ["Basics"]),
        tests(of: "ModelServers", ["LanguageModels", "HTTPClient", "HTTP", "Sockets", "Basics"]),
        tests(of: "Relay", ["LanguageModels", "Identity", "Basics"]),
        tests(of: "Doors", ["Relay", "LanguageModels", "HTTP", "Basics"]),
        tests(of: "PostgresStore", ["Server", "Postgres", "Identity", "Relay", "LanguageModels", "Sockets", "Basics"]),
        tests(of: "JSONLog", ["Basics"]),
        tests(of: "Page"),
        .testTarget(
            name: "ChatterClientTests",
            dependencies: [.target(name: "ChatterClient"), module("HTTP"), module("Basics"), module("TestSupport")],
            swiftSettings: settings),
        .target(
            name: "ChatterdMirrorModels", dependencies: [module("MacroPlugin")], path: "Tests/MirrorModels",
            swiftSettings: settings),
        .testTarget(
            name: "ChatterModelsTests",
            dependencies: [
                .target(name: "ChatterModels"), .target(name: "ChatterClient"),
            ] + ["Basics", "TestSupport", "MirrorModels"].map(module), swiftSettings: settings),
        .testTarget(
            name: "ChatterFoundationModelsTests",
            dependencies: ["ChatterFoundationModels", "ChatterModels"].map { .target(name: $0) },
            swiftSettings: settings),
        .testTarget(
            name: "MacroExpansionTests", dependencies: ["MacroExpansion", "Basics"].map(module),
            swiftSettings: settings),
        .testTarget(
            name: "ChatterMacrosTests",
            dependencies: [.target(name: "ChatterMacros")] + ["MirrorModels"].map(module), swiftSettings: settings),
        .testTarget(
            name: "ChatterLibraryTests",
            dependencies: [.target(name: "ChatterMacros"), .target(name: "ChatterClient"), module("TestSupport")],
            swiftSettings: settings),
        .testTarget(
            name: "TerminalTests",
            dependencies: [module("Terminal"), .target(name: "ChatterClient"), module("Basics")],
            swiftSettings: settings),
        tests(
            of: "Configuration",
            ["HTTP", "HTTPServer", "LanguageModels", "ModelServers", "Relay", "Sockets", "JSONLog", "Basics"]),
        tests(of: "Command", ["DevelopmentCluster", "Configuration", "Server", "Basics"]),
        // The whole program, in five targets, so that a change compiles a part of its tests. ServerTestSupport starts it.
        .target(
            name: "ChatterdServerTestSupport", dependencies: serverTests.map(module), path: "Tests/ServerTestSupport",
            swiftSettings: settings),
    ]
        + ["Access", "Conversation", "Door", "Reply", "Upstream"].map { part in
            .testTarget(
                name: "Server\(part)Tests", dependencies: (serverTests + ["ServerTestSupport"]).map(module),
                swiftSettings: settings)
        },
    swiftLanguageModes: [.v6]
)

// script/test fuzz. libFuzzer has the entry point.
if Context.environment["CHATTERD_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "Basics", "Doors", "HTTP", "Identity", "LanguageModels", "ModelServers", "PostgresStore", "Relay",
            ].map(module), path: "Tests/Fuzz", exclude: ["Corpus"],
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}

// script/test builds the tests of some targets only, for the sanitizers.
if let tested = Context.environment["CHATTERD_TEST_TARGETS"] {
    let names = Set(tested.split(separator: " ").map { "\($0)Tests" })
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
