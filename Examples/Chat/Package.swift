// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "chat",
    platforms: [.macOS(.v14), .iOS(.v17)],
    dependencies: [
        // The name of a package by path is the name of its folder, unless it is given.
        .package(name: "chatterd", path: "../..")
    ],
    targets: [
        // What the app and the command share.
        .target(
            name: "ChatCore",
            dependencies: [
                .product(name: "ChatterClient", package: "chatterd"),
                .product(name: "ChatterModels", package: "chatterd"),
                .product(name: "ChatterMacros", package: "chatterd"),
            ]),
        .executableTarget(name: "ask", dependencies: ["ChatCore"]),
        .executableTarget(name: "ChatApp", dependencies: ["ChatCore"]),
    ],
    swiftLanguageModes: [.v6]
)
