// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that nobody who depends on the library builds it. Scripts/fuzz builds it, with the flags
// that instrument all of it.
let package = Package(
  name: "Fuzzing",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "LMDBCaching", path: "..")],
  targets: [
    // libFuzzer, which comes with the toolchain.
    .target(name: "CFuzzer"),
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "CFuzzer",
        .product(name: "CBORCoding", package: "LMDBCaching"),
        .product(name: "GarageStorage", package: "LMDBCaching"),
        .product(name: "LMDBCaching", package: "LMDBCaching"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
