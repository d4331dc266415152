// swift-tools-version: 6.2

import PackageDescription

// What a program that uses the package has in its Package.swift; with the URL of the repository in the place of "..", and
// without the traits, if it needs neither.
let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  // Those of LMDBCaching: with them it is built as its own tests build it, and need not be built again for these.
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
