// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]
// Targets that touch C: every unsafe use must be spelled `unsafe`.
let wrapper = strict + [.strictMemorySafety()]

// Checked where they are cheap; -O2 since FORTIFY needs it, in debug builds too.
let hardenedC: [CSetting] = [
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-O2", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]),
]
// What the loader has bound is read-only; libraries come from the system's places only (`Sources/link`).
let hardenedBinary: [LinkerSetting] = [
    .unsafeFlags(
        ["-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now"]
            + ["-Xclang-linker", "--ld-path=\(Context.packageDirectory)/Sources/link"],
        .when(platforms: [.linux])
    )
]

func shim(_ name: String, _ library: String?) -> Target {
    .target(
        name: name,
        cSettings: hardenedC,
        linkerSettings: library.map { [.linkedLibrary($0)] } ?? []
    )
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "towline",
    products: [.executable(name: "towline", targets: ["towline"])],
    targets: [
        // C shims
        shim("CCrypto", "crypto"),
        shim("CCurl", "curl"),
        shim("CJansson", "jansson"),
        shim("CPlatform", nil),
        shim("CSQLite", "sqlite3"),
        shim("CZlib", "z"),

        // Leaves
        .target(name: "Core", swiftSettings: strict),
        .target(name: "JSON", dependencies: ["CJansson"], swiftSettings: wrapper),
        .target(name: "Platform", dependencies: ["CPlatform"], swiftSettings: wrapper),

        // What touches the world
        .target(name: "Curl", dependencies: ["CCurl", "CZlib", "Core", "Platform"], swiftSettings: wrapper),
        .target(name: "Files", dependencies: ["CCrypto", "Core", "Platform"], swiftSettings: wrapper),
        .target(name: "Store", dependencies: ["CSQLite", "Core", "JSON", "Platform"], swiftSettings: wrapper),

        // The download actor
        .target(name: "Engine", dependencies: ["Core", "Curl", "Files", "Platform", "Store"], swiftSettings: strict),

        // The wire
        .target(name: "RPC", dependencies: ["JSON", "Platform"], swiftSettings: wrapper),
        .target(
            name: "Service",
            dependencies: ["Core", "Engine", "JSON", "Platform", "RPC", "Store"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "towline",
            dependencies: ["Core", "Curl", "Engine", "Platform", "RPC", "Service", "Store"],
            swiftSettings: strict,
            linkerSettings: hardenedBinary
        ),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["Platform"],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        tests("CoreTests", ["Core"]),
        tests("CurlTests", ["Curl", "Core", "Platform", "TestSupport"]),
        tests("EngineTests", ["Core", "Curl", "Engine", "Files", "Platform", "Store", "TestSupport"]),
        tests("FilesTests", ["Core", "Files", "Platform", "TestSupport"]),
        tests("JSONTests", ["JSON"]),
        tests("PlatformTests", ["Platform", "TestSupport"]),
        tests("RPCTests", ["JSON", "Platform", "RPC", "TestSupport"]),
        tests("ServiceTests", ["Core", "Engine", "JSON", "Platform", "RPC", "Service", "TestSupport"]),
        tests("StoreTests", ["Core", "JSON", "Platform", "Store", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
