import EFStorageLMDBCache
import Foundation

/// Reads and writes properties in a cache, on command.
enum CacheService {
  static func run(directory: String) throws {
    var configuration = CacheConfiguration()
    configuration.disk.groupCommitInterval = .milliseconds(5)
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
    let property = EFStorageLMDBCache(wrappedValue: "default", forKey: "shared", in: cache)
    let count = EFStorageLMDBCache(wrappedValue: 0, forKey: "count", in: cache)
    while let line = readLine() {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      switch words[0] {
      case "get": print(property.wrappedValue)
      case "set":
        property.wrappedValue = words[1]
        try cache.flush()
        print("done")
      case "remove":
        property.removeContentFromUnderlyingStorage()
        try cache.flush()
        print("done")
      case "add":
        for _ in 0..<Int(words[1])! { try count.update { $0 += 1 } }
        print("done")
      default: print("unknown")
      }
      fflush(nil)
    }
    try cache.close()
  }
}
