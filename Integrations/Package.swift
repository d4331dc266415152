// swift-tools-version: 6.2

// Integrations of LMDBCaching with other packages, in a separate package so that only their users build them.

import PackageDescription

let cache: [Target.Dependency] = [.product(name: "LMDBCaching", package: "LMDBCaching")]

let package = Package(
  name: "LMDBCachingIntegrations",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "LMDBCachingHummingbird", targets: ["LMDBCachingHummingbird"]),
    .library(name: "LMDBCachingLifecycle", targets: ["LMDBCachingLifecycle"]),
    .library(name: "LMDBCachingTracing", targets: ["LMDBCachingTracing"]),
  ],
  // The same traits as in LMDBCaching's own tests, so that it is not built twice.
  traits: ["Compression", "Encryption"],
  dependencies: [
    .package(
      name: "LMDBCaching", path: "..",
      traits: [
        .trait(name: "Compression", condition: .when(traits: ["Compression"])),
        .trait(name: "Encryption", condition: .when(traits: ["Encryption"])),
      ]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .target(
      name: "LMDBCachingHummingbird",
      dependencies: cache + [.product(name: "Hummingbird", package: "hummingbird")]),
    .target(
      name: "LMDBCachingLifecycle",
      dependencies: cache + [.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")]),
    .target(
      name: "LMDBCachingTracing",
      dependencies: cache + [.product(name: "Tracing", package: "swift-distributed-tracing")]),
    .executableTarget(
      name: "ExampleServer",
      dependencies: [
        "LMDBCachingHummingbird", "LMDBCachingLifecycle",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ],
      path: "Examples/Server", exclude: ["measure"]),
    .executableTarget(
      name: "FleetServer",
      dependencies: cache + [
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "LMDBCachingRedis", package: "LMDBCaching"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Examples/Fleet", exclude: ["demo"]),
    // A child process of the tests.
    .executableTarget(
      name: "PersistTestProcess", dependencies: ["LMDBCachingHummingbird"], path: "Tests/PersistTestProcess"),
    // The documentation's code blocks as a client compiles them. Scripts/lib/documentation.sh extracts them.
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "LMDBCachingHummingbird", "LMDBCachingLifecycle", "LMDBCachingTracing",
        .product(name: "Hummingbird", package: "hummingbird"),
      ]),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "ExampleServer", "FleetServer", "LMDBCachingHummingbird", "LMDBCachingLifecycle", "LMDBCachingTracing",
        "PersistTestProcess",
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "LMDBCachingRedis", package: "LMDBCaching"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
  ])

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
