// swift-tools-version: 6.2

import PackageDescription

/// Stores that not every machine has: `BENCHMARK_PEERS=rocksdb,leveldb`, as Scripts/benchmark sets it. By a variable,
/// since a change of it makes the package manager read this file again, and a library installed in between does not.
let peers = (Context.environment["BENCHMARK_PEERS"] ?? "").split(separator: ",").map(String.init)

// A package of its own, so that nobody who depends on the library builds it.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  // Those of LMDBCaching: its tests are built with them, and those of this package beside them. What is measured is built
  // without.
  traits: ["Compression", "Encryption"],
  dependencies: [
    .package(
      name: "LMDBCaching", path: "..",
      traits: [
        .trait(name: "Compression", condition: .when(traits: ["Compression"])),
        .trait(name: "Encryption", condition: .when(traits: ["Encryption"])),
      ]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    // What is measured, and beside what.
    .systemLibrary(name: "CLMDBReference", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CHiredisReference", pkgConfig: "hiredis", providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
    .target(name: "CReference", dependencies: ["CLMDBReference"], cSettings: [.unsafeFlags(["-O2"])]),
    .target(
      name: "Workloads",
      dependencies: [
        "CHiredisReference",
        "CReference",
        "Reporting",
        .product(name: "CBORCoding", package: "LMDBCaching"),
        .product(name: "EFStorageLMDBCache", package: "LMDBCaching"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "LMDBCaching", package: "LMDBCaching"),
        .product(name: "LMDBCachingRedis", package: "LMDBCaching"),
      ]),

    // The side-by-side run.
    .target(name: "Reporting"),
    .executableTarget(
      name: "benchmark",
      dependencies: [
        "Reporting", "Workloads", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .testTarget(name: "ReportingTests", dependencies: ["Reporting"]),
    .testTarget(
      name: "WorkloadsTests",
      dependencies: ["Reporting", "Workloads", .product(name: "LMDBCaching", package: "LMDBCaching")]),

    // The thresholds: a target for each folder of workloads.
    .target(name: "CAllocations"),
    .target(
      name: "Registration",
      dependencies: ["CAllocations", "Workloads", .product(name: "Benchmark", package: "benchmark")],
      path: "Benchmarks/Registration"),
  ]
    + ["Memory", "Disk", "Archive", "Wrapper", "Trace", "Change"].map { name in
      .executableTarget(
        name: name, dependencies: ["Registration", .product(name: "Benchmark", package: "benchmark")],
        path: "Benchmarks/\(name)", plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")])
    },
  swiftLanguageModes: [.v6]
)

let workloads = package.targets.first { $0.name == "Workloads" }!
// As the modules that it measures: its tests take five minutes otherwise.
if Context.environment["LMDBCACHING_TESTS"] == "optimized" { workloads.swiftSettings = [.unsafeFlags(["-O"])] }
if peers.contains("rocksdb") {
  package.targets.append(.systemLibrary(name: "CRocksDB", pkgConfig: "rocksdb", providers: [.apt(["librocksdb-dev"])]))
  workloads.dependencies.append("CRocksDB")
  workloads.swiftSettings = (workloads.swiftSettings ?? []) + [.define("ROCKSDB")]
}
if peers.contains("leveldb") {
  package.targets.append(.systemLibrary(name: "CLevelDB", providers: [.apt(["libleveldb-dev"])]))
  workloads.dependencies.append("CLevelDB")
  workloads.swiftSettings = (workloads.swiftSettings ?? []) + [.define("LEVELDB")]
}
