// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "libraries",
    dependencies: [.package(name: "chatterd", path: "../..")],
    targets: [
        .executableTarget(
            name: "answers",
            dependencies: ["ChatterClient", "ChatterModels"].map { .product(name: $0, package: "chatterd") })
    ]
)
