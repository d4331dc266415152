// swift-tools-version: 6.2

import PackageDescription

// What pkg-config says of hiredis has a flag that the package manager refuses, with a warning for everybody who uses this
// package. On Linux the headers are found without it.
#if os(Linux)
  let hiredis: String? = nil
  // XXH3 is inlined from its header. pkg-config would link the library, which programs would need at run time.
  let xxHash: String? = nil
#else
  let hiredis: String? = "hiredis"
  let xxHash: String? = "libxxhash"
#endif

// For targets with unsafe code: each place is marked.
let strict: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
  name: "LMDBCaching",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "CBORCoding", targets: ["CBORCoding"]),
    .library(name: "LMDB", targets: ["LMDB"]),
    .library(name: "LMDBCaching", targets: ["LMDBCaching"]),
    .library(name: "LMDBCachingImport", targets: ["LMDBCachingImport"]),
    .library(name: "LMDBCachingRemote", targets: ["LMDBCachingRemote"]),
    .library(name: "LMDBCachingRedis", targets: ["LMDBCachingRedis"]),
    .library(name: "EFStorageCore", targets: ["EFStorageCore"]),
    .library(name: "EFStorageLMDBCache", targets: ["EFStorageLMDBCache"]),
    .library(name: "EFStorageUserDefaults", targets: ["EFStorageUserDefaults"]),
    .library(name: "EFStorageConformance", targets: ["EFStorageConformance"]),
    .library(name: "GarageStorage", targets: ["GarageStorage"]),
    .library(name: "EFStorageStorez", targets: ["EFStorageStorez"]),
    .library(name: "Storez", targets: ["Storez"]),
    .executable(name: "lmdb-cache", targets: ["lmdb-cache"]),
  ],
  traits: [
    .trait(name: "Compression", description: "ZstandardCompression, over the system's libzstd."),
    .trait(name: "Encryption", description: "AuthenticatedEncryption, over swift-crypto."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CXXHash", pkgConfig: xxHash,
      providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    .target(name: "CXXHashWide", dependencies: ["CXXHash"]),
    .target(name: "CPlatform"),
    // Every call of the C library: files, directories, locks, maps, threads and time.
    .target(name: "Platform", dependencies: ["CPlatform"], swiftSettings: strict),
    // What the coders of both kinds of archives share.
    .target(name: "FoundationObjects", dependencies: ["Platform"], swiftSettings: strict),
    .target(name: "CBORCoding", dependencies: ["CPlatform", "FoundationObjects"], swiftSettings: strict),
    .target(name: "LMDB", dependencies: ["CLMDB", "CPlatform", "CXXHash", "Platform"], swiftSettings: strict),
    .target(
      name: "LMDBCaching",
      dependencies: [
        "CBORCoding",
        "CPlatform",
        "CXXHash",
        "CXXHashWide",
        "FoundationArchives",
        "FoundationObjects",
        "LMDB",
        "Platform",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .target(name: "CZstd", condition: .when(traits: ["Compression"])),
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
      ], swiftSettings: strict),
    // The cache of a fleet: any client of a Redis server can be its tier.
    .target(
      name: "LMDBCachingRemote",
      dependencies: [
        "LMDBCaching", "Platform", .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ]),
    .systemLibrary(
      name: "CHiredis", pkgConfig: hiredis,
      providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
    .target(
      name: "LMDBCachingRedis", dependencies: ["CHiredis", "LMDBCaching", "LMDBCachingRemote", "Platform"],
      swiftSettings: strict),
    // What other stores have, into a cache. Apart, so that nobody else links SQLite.
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(
      name: "LMDBCachingImport", dependencies: ["CSQLite", "FoundationArchives", "LMDBCaching", "Platform"],
      swiftSettings: strict),
    .target(name: "EFStorageCore", swiftSettings: strict),
    .target(name: "EFStorageLMDBCache", dependencies: ["EFStorageCore", "LMDBCaching"]),
    .target(name: "EFStorageConformance", dependencies: ["EFStorageCore"]),
    .target(
      name: "FoundationArchives", dependencies: ["CBORCoding", "FoundationObjects", "Platform"], swiftSettings: strict),
    .target(name: "EFStorageUserDefaults", dependencies: ["EFStorageCore", "FoundationArchives", "Platform"]),
    .target(name: "GarageStorage", dependencies: ["LMDB", "Platform"], swiftSettings: strict),
    .target(
      name: "Storez",
      dependencies: ["FoundationArchives", "LMDBCaching", .product(name: "Logging", package: "swift-log")]),
    // Apart, so that neither of the two brings the other.
    .target(name: "EFStorageStorez", dependencies: ["EFStorageLMDBCache", "Storez"]),
    .executableTarget(
      name: "lmdb-cache",
      dependencies: [
        "CBORCoding",
        "FoundationArchives",
        "LMDB",
        "LMDBCaching",
        "LMDBCachingImport",
        "Platform",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      // In the program itself: what is installed is one file.
      resources: [.embedInCode("Inspector/Page")], swiftSettings: strict),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(name: "TestSupport", dependencies: ["CTestSupport", "LMDB", "Platform"], path: "Tests/TestSupport"),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"]),
    .testTarget(name: "CBORCodingTests", dependencies: ["CBORCoding", "FoundationObjects", "TestSupport"]),
    // What releases have written, in `Fixtures`, and how it is written.
    .target(
      name: "FormatFixtures",
      dependencies: ["GarageStorage", "LMDBCaching", "TestSupport", .product(name: "Logging", package: "swift-log")],
      path: "Tests/FormatFixtures", exclude: ["Fixtures"]),
    // What the tests start as other processes.
    .executableTarget(name: "LMDBTestProcess", dependencies: ["LMDB"], path: "Tests/LMDBTestProcess"),
    .testTarget(name: "LMDBTests", dependencies: ["LMDB", "LMDBTestProcess", "Platform", "TestSupport"]),
    .executableTarget(
      name: "CacheTestProcess",
      dependencies: [
        "CacheModel", "FormatFixtures", "LMDB", "LMDBCaching", "Platform", "TestSupport",
        .product(name: "Logging", package: "swift-log"), .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ],
      path: "Tests/CacheTestProcess"),
    .testTarget(
      name: "LMDBCachingTests",
      dependencies: [
        "CBORCoding", "CPlatform", "CXXHash", "CXXHashWide", "CacheModel", "CacheTestProcess", "FormatFixtures",
        "FoundationArchives", "LMDB", "LMDBCaching", "Platform", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "LMDBCachingImportTests",
      dependencies: [
        "CSQLite", "LMDBCaching", "LMDBCachingImport", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      exclude: ["Fixtures"]),
    .testTarget(
      name: "LMDBCachingRemoteTests",
      dependencies: [
        "LMDBCaching", "LMDBCachingRedis", "LMDBCachingRemote", "Platform", "RedisTestSupport", "TestSupport",
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
    .target(
      name: "RedisTestSupport", dependencies: ["LMDBCachingRedis", "TestSupport"], path: "Tests/RedisTestSupport"),
    .testTarget(
      name: "EFStorageTests",
      dependencies: [
        "CBORCoding", "EFStorageConformance", "EFStorageCore", "EFStorageLMDBCache", "EFStorageUserDefaults",
        "GarageStorage", "LMDB", "LMDBCaching", "LMDBCachingImport", "LMDBCachingRemote", "Storez", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    // No test depends on it: it would be linked into their program, and what it replaces be replaced there.
    .executableTarget(
      name: "EFStorageTestProcess", dependencies: ["EFStorageLMDBCache", "EFStorageUserDefaults"],
      path: "Tests/EFStorageTestProcess"),
    // Client code in the older language mode, without any of the settings below.
    .testTarget(
      name: "EFStorageSwift5Tests", dependencies: ["EFStorageLMDBCache", "EFStorageUserDefaults"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // What the tests start as another process; it also measures.
    .executableTarget(
      name: "GarageTestProcess", dependencies: ["GarageStorage"], path: "Tests/GarageTestProcess"),
    .testTarget(
      name: "GarageStorageTests",
      dependencies: [
        "FormatFixtures", "GarageStorage", "GarageTestProcess", "LMDB", "Platform", "TestSupport",
      ]),
    .testTarget(
      name: "GarageStorageSwift5Tests", dependencies: ["GarageStorage"], swiftSettings: [.swiftLanguageMode(.v5)]),
    // Client code whose declarations are on the main actor unless they say otherwise.
    .testTarget(
      name: "MainActorClientTests", dependencies: ["EFStorageStorez", "EFStorageUserDefaults", "GarageStorage"],
      swiftSettings: [.defaultIsolation(MainActor.self)]),
    .testTarget(
      name: "StorezTests",
      dependencies: [
        "EFStorageStorez", "LMDBCaching", "Storez", "TestSupport", .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "CommandLineToolTests",
      dependencies: ["CacheTestProcess", "CBORCoding", "lmdb-cache", "LMDBCaching", "TestSupport"]),
    // What the documentation shows, as a client would compile it: Scripts/lib/documentation.sh puts the blocks there.
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "CBORCoding", "EFStorageConformance", "EFStorageCore", "EFStorageLMDBCache", "EFStorageStorez",
        "EFStorageUserDefaults", "GarageStorage", "LMDB", "LMDBCaching", "LMDBCachingImport", "LMDBCachingRedis",
        "LMDBCachingRemote", "Storez",
      ],
      packageAccess: false),
    // In front of the C library's functions that write, in the program it is linked into.
    .target(name: "WriteLog", path: "Tests/WriteLog"),
    // Random histories of a cache and a dictionary, for the tests and a trial.
    .target(
      name: "CacheModel",
      dependencies: [
        "CXXHash", "LMDBCaching", "Platform", "TestSupport", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Reliability/Model"),
    // The trials of what the cache promises: `soak` runs their long form, the tests a short one.
    .target(
      name: "Reliability",
      dependencies: [
        "CBORCoding", "CacheModel", "EFStorageCore", "EFStorageUserDefaults", "LMDB", "LMDBCaching",
        "LMDBCachingRedis", "Platform", "RedisTestSupport", "TestSupport", "WriteLog",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Reliability", exclude: ["Model"]),
    .executableTarget(
      name: "soak",
      dependencies: ["Reliability", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Tests/Soak"),
    .testTarget(
      name: "ReliabilityTests",
      dependencies: ["LMDBCaching", "Reliability", "TestSupport", "soak"]),
  ],
  swiftLanguageModes: [.v6]
)

// The keychain is of Linux alone: elsewhere nothing asks for libsecret.
#if os(Linux)
  package.products += [.library(name: "EFStorageKeychainAccess", targets: ["EFStorageKeychainAccess"])]
  package.targets += [
    // Without pkg-config, which gives a flag that the package manager refuses with a warning.
    .systemLibrary(name: "CSecret"),
    .target(
      name: "EFStorageKeychainAccess", dependencies: ["CSecret", "EFStorageCore", "FoundationArchives"],
      swiftSettings: strict),
    // What the tests start as another process.
    .executableTarget(
      name: "KeychainTestProcess", dependencies: ["EFStorageKeychainAccess"], path: "Tests/KeychainTestProcess"),
    .testTarget(
      name: "EFStorageKeychainAccessTests",
      dependencies: ["EFStorageConformance", "EFStorageKeychainAccess", "KeychainTestProcess", "TestSupport"]),
  ]
  for target in package.targets where ["DocumentationTests", "EFStorageTests"].contains(target.name) {
    target.dependencies.append("EFStorageKeychainAccess")
  }
#endif

// For a look at the documentation of one module, by who asks for it. Nobody who depends on the package fetches the plugin:
//   LMDBCACHING_DOCUMENTATION=1 swift package generate-documentation --target LMDBCaching
if Context.environment["LMDBCACHING_DOCUMENTATION"] != nil {
  package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// LMDBCACHING_TESTS selects what `Scripts/test` builds: test targets by name, separated by commas, or one of two words.
var selected: [String]
switch Context.environment["LMDBCACHING_TESTS"] {
case nil:
  // The blocks of the documentation exist only while a script builds them.
  selected = package.targets.map(\.name).filter { $0 != "DocumentationTests" }
case "concurrency":
  // The suites in which threads meet, for the thread sanitizer.
  selected = [
    "EFStorageKeychainAccessTests", "EFStorageTests", "GarageStorageTests", "LMDBCachingRemoteTests",
    "LMDBCachingTests", "LMDBTests", "StorezTests",
  ]
  for target in package.targets where target.type == .test { target.sources = ["Concurrency", "Support"] }
case "optimized":
  // The libraries as users have them, but with assertions, and the tests that need optimized code or all traits. Only
  // this builds BoringSSL.
  selected = package.products.flatMap { ($0 as? Product.Library)?.targets ?? [] }
  selected += [
    "DocumentationTests", "EFStorageTestProcess", "EFStorageTests", "LMDBCachingRemoteTests", "LMDBCachingTests",
  ]
  for target in package.targets where ["LMDBCachingRemoteTests", "LMDBCachingTests"].contains(target.name) {
    target.sources = ["Encryption", "Support"]
  }
  // A client that replaces hooks, and the modules that the tests of the benchmarks spend their time in.
  let optimized = [
    "CBORCoding", "EFStorageCore", "EFStorageLMDBCache", "EFStorageTestProcess", "EFStorageUserDefaults",
    "FoundationArchives", "FoundationObjects", "LMDB", "LMDBCaching", "Platform",
  ]
  for target in package.targets where optimized.contains(target.name) {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [.unsafeFlags(["-O", "-enable-default-cmo", "-assert-config", "Debug"])]
  }
case let names?:
  selected = names.split(separator: ",").map(String.init)
  // A test starts it but does not link it.
  if selected.contains("EFStorageTests") { selected.append("EFStorageTestProcess") }
}
// Everything that the selected targets depend on, directly or not.
var next = 0
while next < selected.count {
  for dependency in package.targets.first(where: { $0.name == selected[next] })?.dependencies ?? [] {
    switch dependency {
    case .byNameItem(let name, _), .targetItem(let name, _): if !selected.contains(name) { selected.append(name) }
    default: break
    }
  }
  next += 1
}
package.targets.removeAll { !selected.contains($0.name) }
package.products.removeAll { product in
  let targets = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
  return !targets.allSatisfy(selected.contains)
}

// The same compiler settings everywhere. The compiler's warnings become errors in CI, by a flag there:
// a warning of a newer compiler must not break the build of those who depend on this package.
let clients = ["DocumentationTests", "EFStorageSwift5Tests", "GarageStorageSwift5Tests", "MainActorClientTests"]
for target in package.targets where target.type != .system && !clients.contains(target.name) {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .swiftLanguageMode(.v6),
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
    ]
}

// The programs of README.md, while `run_readme` in Scripts/lib/documentation.sh has them there: with a client's settings.
for program in (Context.environment["LMDBCACHING_README"] ?? "").split(separator: " ") {
  package.targets.append(
    .executableTarget(
      name: "\(program)", dependencies: ["EFStorageKeychainAccess", "EFStorageLMDBCache", "EFStorageUserDefaults"],
      path: "Tests/ReadmePrograms/\(program)"))
}
