#if os(Linux)
  import Foundation
  import Testing

  @Suite struct LibraryTests {
    #if Compression
      private static let cache = ["liblmdb.so.0", "libzstd.so.1"]
    #else
      private static let cache = ["liblmdb.so.0"]
    #endif

    /// The tool also imports from SQLite; the other program only uses the cache.
    @Test(arguments: [("lmdb-cache", cache + ["libsqlite3.so.0"]), ("CacheTestProcess", cache)])
    func onlyDocumentedLibrariesAreNeeded(_ program: String, _ expected: [String]) async throws {
      let path = Tool.executable.deletingLastPathComponent().appendingPathComponent(program).path
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["readelf", "--dynamic", "--wide", path]
      process.standardOutput = output
      try process.run()
      let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      let needed = text.split(separator: "\n").filter { $0.contains("(NEEDED)") }
        .compactMap { $0.split(separator: "[").last?.dropLast() }
      #expect(needed.contains("libc.so.6") || needed.contains { $0.contains("musl") })
      // Ignore the libraries of Swift and of C.
      let others = needed.filter { library in
        ![
          "libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime", "libc.", "libm.", "ld-",
          "libgcc_s", "libstdc++", "libpthread", "libdl", "librt", "libutil",
        ].contains { library.hasPrefix($0) }
      }
      #expect(Set(others.map(String.init)) == Set(expected))
    }
  }
#endif
