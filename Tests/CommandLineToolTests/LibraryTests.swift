#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @Suite struct LibraryTests {
    #if Compression
      private static let cache: Set = ["liblmdb.so.0", "libzstd.so.1"]
    #else
      private static let cache: Set = ["liblmdb.so.0"]
    #endif

    /// The tool also imports from SQLite; the other program only uses the cache.
    @Test(arguments: [("lmdb-cache", cache.union(["libsqlite3.so.0"])), ("CacheTestProcess", cache)])
    func onlyDocumentedLibrariesAreNeeded(_ program: String, _ expected: Set<String>) throws {
      let words = ["readelf", "--dynamic", "--wide", ChildProcess.path(of: program)]
      let text = String(
        decoding: try ChildProcess(URL(fileURLWithPath: "/usr/bin/env"), words).readToEnd(), as: UTF8.self)
      let needed = text.matches(of: /\(NEEDED\).*\[(.+)\]/).map { String($0.1) }
      #expect(needed.contains("libc.so.6") || needed.contains { $0.contains("musl") })
      // Ignore the libraries of Swift and of C.
      let others = needed.filter { library in
        ![
          "libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime", "libc.", "libm.", "ld-",
          "libgcc_s", "libstdc++", "libpthread", "libdl", "librt", "libutil",
        ].contains { library.hasPrefix($0) }
      }
      #expect(Set(others) == expected)
    }
  }
#endif
