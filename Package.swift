// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

/// A folder of Sources. Each line has a target and what it imports: only targets above it in this file.
typealias Floor = KeyValuePairs<String, [String]>
/// Protocols, sockets and small things. Nothing here knows of conversations.
let kit: Floor = [
    "Basics": [],
    "HTTP": ["Basics"],
    "JSONLog": ["Basics"],
    "Cryptography": ["Basics", "COpenSSL"],
    "Sockets": ["Basics", "CSystem", "COpenSSL"],
    "HTTPServer": ["Basics", "HTTP", "Sockets"],
    "HTTPClient": ["Basics", "HTTP", "Sockets"],
    "Postgres": ["Basics", "Sockets", "CPostgres"],
]
/// Conversations, their answers, and the APIs. Pure: no I/O and no clock.
let domain: Floor = [
    "Identity": ["Basics"],
    "Metrics": ["Basics"],
    "Tracing": ["Basics"],
    "Chat": ["Basics", "Cryptography", "Identity", "Tracing"],
    "Relay": ["Basics", "Identity", "Tracing", "Chat"],
    "Dialects": ["Basics", "HTTP", "Cryptography", "Identity", "Chat", "Relay"],
]
let below = kit.map(\.key) + domain.map(\.key)
/// Model servers, the database, and the server between them.
let program: Floor = [
    "ModelServers": ["Basics", "HTTP", "Sockets", "HTTPClient", "Tracing", "Chat", "Dialects"],
    "PostgresStore": ["Basics", "Cryptography", "Sockets", "Postgres", "Identity", "Chat", "Relay"],
    "Tools": ["Basics", "HTTP", "Sockets", "HTTPClient", "CSystem", "Identity", "Chat", "Relay"],
    "Hooks": ["Basics", "HTTP", "Cryptography", "Sockets", "HTTPClient", "Identity", "Chat", "Relay"],
    "Configuration": below + ["ModelServers", "Tools", "Hooks"],
    "DevelopmentCluster": ["CSystem"],
    "Page": [],
    "Server": below + ["CSystem", "ModelServers", "PostgresStore", "Tools", "Hooks", "Configuration", "Page"],
    "Command": below
        + [
            "CSystem", "ModelServers", "PostgresStore", "Tools", "Hooks", "Configuration", "DevelopmentCluster",
            "Server",
        ],
    "chatterd": ["Command"],
]
/// Libraries for apps, and the terminal.
let apps: Floor = [
    "ChatterClient": ["Basics", "HTTP", "Sockets", "HTTPClient"],
    "ChatterModels": ["Basics", "HTTP", "ChatterClient"],
    "ChatterFoundationModels": ["Basics", "ChatterModels"],
    "MacroExpansion": ["Basics"],
    // Runs in the compiler, and speaks its protocol without swift-syntax. Tests of it would compile all modules twice.
    "MacroPlugin": ["MacroExpansion"],
    "ChatterMacros": ["ChatterModels", "MacroPlugin"],
    "ChatterSwiftAI": ["ChatterModels", "ChatterFoundationModels", "ChatterMacros"],
    "ChatterLanguageModelSession": ["Basics", "ChatterModels", "ChatterFoundationModels", "ChatterMacros"],
    "Terminal": ["Basics", "Sockets", "ChatterClient", "CEdit"],
    "chatter": ["Terminal"],
]
/// Folders of Tests that tests import.
let support: Floor = [
    "TestSupport": ["Basics", "CPostgres", "Identity", "Chat", "DevelopmentCluster"],
    "MirrorModels": ["MacroPlugin"],
    "SeedSamples": ["ChatterSwiftAI"],
    "AppleSamples": ["ChatterLanguageModelSession"],
    "ServerTestSupport": ["Command", "TestSupport"],
]
let all = ["ServerTestSupport"]
/// Tests, and what they import besides their target. Those of the whole program are five: a change compiles a part of them.
let tests: Floor = [
    "Basics": [], "HTTP": [], "JSONLog": [], "Cryptography": ["Identity"], "Sockets": [], "HTTPServer": [],
    "HTTPClient": [], "Postgres": [], "Identity": [], "Metrics": [], "Tracing": [], "Chat": [], "Relay": [],
    "Dialects": [],
    "ModelServers": [], "Tools": [], "Hooks": [],
    "PostgresStore": ["Server"], "Configuration": [], "Page": [], "Command": [], "ChatterClient": [],
    "ChatterModels": ["MirrorModels"], "ChatterFoundationModels": [], "MacroExpansion": [], "Terminal": [],
    "ChatterMacros": ["MirrorModels"], "ChatterSwiftAI": ["SeedSamples"],
    "ChatterLanguageModelSession": ["AppleSamples"], "ChatterLibrary": ["SeedSamples"], "TestSupport": [],
    "ServerAccess": all, "ServerConversation": all, "ServerDoor": all, "ServerReply": all, "ServerUpstream": all,
]
let settings: [SwiftSetting] =
    ["ExistentialAny", "MemberImportVisibility", "NonisolatedNonsendingByDefault"].map { .enableUpcomingFeature($0) }
    + [.enableExperimentalFeature("Lifetimes"), .treatAllWarnings(as: .error)]
/// `HTTP` is the module `ChatterdHTTP`: SwiftPM refuses a graph in which two packages declare targets of one name.
func module(_ folder: String) -> String {
    if folder.lowercased().hasPrefix("chatter") || folder.hasSuffix("Tests") { return folder }
    let isC = ["CSystem", "COpenSSL", "CPostgres", "CEdit"].contains(folder)
    return isC ? "CChatterd\(folder.dropFirst())" : "Chatterd\(folder)"
}

func target(_ name: String, _ imports: some Collection<String>, in path: String) -> Target {
    // On Apple's systems the libraries use URLSession instead of our own sockets.
    let linux: TargetDependencyCondition? = name == "ChatterClient" ? .when(platforms: [.linux]) : nil
    let needs = imports.map { folder -> Target.Dependency in
        .target(name: module(folder), condition: ["Sockets", "HTTPClient"].contains(folder) ? linux : nil)
    }
    let files = ["Page": ["Files"], "PostgresStore": ["Migrations"], "Server": ["Routes/openapi.json"]][name] ?? []
    let resources = files.map { Resource.embedInCode($0) }
    let name = module(name)
    return switch name {
    case "ChatterdMacroPlugin": .macro(name: name, dependencies: needs, path: path, swiftSettings: settings)
    case "chatter", "chatterd": .executableTarget(name: name, dependencies: needs, path: path, swiftSettings: settings)
    case _ where path.hasSuffix("Tests"):
        .testTarget(name: name, dependencies: needs, path: path, swiftSettings: settings)
    default: .target(name: name, dependencies: needs, path: path, resources: resources, swiftSettings: settings)
    }
}

let package = Package(
    name: "chatterd",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: ["chatterd", "chatter"].map { .executable(name: $0, targets: [$0]) }
        + apps.map(\.key).filter { $0.hasPrefix("Chatter") }.map { .library(name: $0, targets: [$0]) },
    targets: [
        .target(name: "CChatterdSystem", path: "Sources/Kit/CSystem"),
        .target(
            name: "CChatterdOpenSSL", path: "Sources/Kit/COpenSSL",
            linkerSettings: ["ssl", "crypto"].map { .linkedLibrary($0) }),
        // Without `pkgConfig`: it would warn in the build of a package that uses a library and has no libpq.
        .systemLibrary(name: "CChatterdPostgres", path: "Sources/Kit/CPostgres", providers: [.apt(["libpq-dev"])]),
        .target(name: "CChatterdEdit", path: "Sources/Apps/CEdit", linkerSettings: [.linkedLibrary("edit")]),
    ],
    swiftLanguageModes: [.v6]
)
for (folder, floor) in [("Kit", kit), ("Domain", domain), ("Program", program), ("Apps", apps)] {
    package.targets += floor.map { target($0, $1, in: "Sources/\(folder)/\($0)") }
}
let imports = Dictionary(uniqueKeysWithValues: [kit, domain, program, apps, support].flatMap { $0.map { ($0, $1) } })
/// Targets with all that they import, directly or not.
func closure(_ names: [String]) -> Set<String> {
    names.reduce(into: Set(names)) { $0.formUnion(closure(imports[$1] ?? [])) }
}
package.targets += support.map { target($0, closure($1).sorted(), in: "Tests/\($0)") }
// script/test builds the tests of some targets only, for the sanitizers.
let chosen = Context.environment["CHATTERD_TEST_TARGETS"]?.split(separator: " ").map(String.init)
package.targets += tests.filter { chosen?.contains($0.key) ?? true }.map { name, others in
    let imported = closure([name, "TestSupport"].filter { imports[$0] != nil } + others).subtracting(["MacroPlugin"])
    return target("\(name)Tests", imported.sorted(), in: "Tests/\(name)Tests")
}
// script/test fuzz. libFuzzer has the entry point.
if Context.environment["CHATTERD_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: (below + ["ModelServers", "PostgresStore"]).map { .target(name: module($0)) },
            path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}
