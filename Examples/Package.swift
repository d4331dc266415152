// swift-tools-version: 6.2

import PackageDescription

// The manifest of a program that uses the package. Use the repository's URL instead of "..", and drop unneeded traits.
let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
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
  ],
  targets: [
    .executableTarget(
      name: "word-count",
      dependencies: [
        .product(name: "LMDBCaching", package: "LMDBCaching"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "WordCount"),
    .executableTarget(
      name: "yycache-port", dependencies: [.product(name: "LMDBCaching", package: "LMDBCaching")], path: "YYCachePort"),
    .testTarget(name: "ExampleTests", dependencies: ["word-count", "yycache-port"]),
  ]
)
