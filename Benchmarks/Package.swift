// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that nobody who depends on the library builds it.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v26)],
  dependencies: [
    .package(name: "LMDBCaching", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .systemLibrary(name: "CLMDBReference", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .target(
      name: "CReference", dependencies: ["CLMDBReference"],
      cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(
      name: "figures",
      dependencies: [
        "CReference",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "EFStorageLMDBCache", package: "LMDBCaching"),
        .product(name: "LMDBCaching", package: "LMDBCaching"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
