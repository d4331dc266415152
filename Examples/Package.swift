// swift-tools-version: 6.2

import PackageDescription

// What a program that uses the package has in its Package.swift; with the URL of the repository in the place of "..".
let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "LMDBCaching", path: ".."),
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
