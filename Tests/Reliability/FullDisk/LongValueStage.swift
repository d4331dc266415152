import Foundation
import LMDBCaching
import Platform
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Stores values of gigabytes on a tmpfs that is too small or just large enough, in its own mount namespace.
///
/// Argument: a directory. Prints `count NAME` and `wrong …`.
struct LongValueStage: TrialRole {
  static let name = "long-value-stage"

  private static let greatest = 1 << 32 - 1
  /// An upper bound of the memory used, in bytes.
  static let memory = 6 << 30

  #if os(Linux)
    static func run(_ arguments: [String]) throws {
      for (name, size, body) in [
        ("values cut off behind 2 GiB", 2_200 << 20, cutOff), ("values of 4 GiB less a byte", 4_300 << 20, store),
      ] {
        let path = "\(arguments[0])/\(size)"
        do {
          try FullDiskPlace.tmpfs.mount(at: path, size: size)
          try body(path)
          answer("count 1 \(name)")
        } catch {
          answer("wrong \(name): \(error)")
        }
        if umount2(path, Int32(MNT_DETACH)) != 0 { answer("wrong umount2: \(errno)") }
      }
    }

    /// The disk fills up during the second write call of one value, on a file system without reserved blocks.
    private static func cutOff(_ path: String) throws {
      let cache = try open(path)
      try cache.set("older", forKey: "long")
      let session = FaultInjection.begin(
        .directory(path + "/cache/values"), [.init(.fallocate, returns: 0, count: .max)])
      defer { FaultInjection.end(session) }
      try withZeros(2_500 << 20) { value in
        try expectError(.noSpace) { try cache.set(value, forKey: "long") }
        try expect(try cache.value(String.self, forKey: "long") == "older", "the older value is lost")
        try expect(try free(path) > 2_100 << 20, "what was written of it takes space")
        try cache.set(value[..<(1_000 << 20)], forKey: "long")
      }
      try cache.close()
      let reopened = try open(path)
      try expect(try reopened.withBytes(forKey: "long") { $0.byteCount } == 1_000 << 20, "the value that fits")
      try reopened.close()
    }

    /// The longest value, and one byte more.
    private static func store(_ path: String) throws {
      let cache = try open(path)
      try withZeros(greatest) { try cache.set($0, forKey: "long") }
      try withZeros(greatest + 1) { value in
        try expectError(.invalidArgument) { try cache.set(value, forKey: "long") }
      }
      for turn in 0..<2 {
        let cache = turn == 0 ? cache : try open(path)
        try expect(try cache.entries().map(\.size) == [greatest], "its length")
        let isRight = try cache.withBytes(forKey: "long") { bytes in
          let places = [0, 1 << 31, 1 << 31 + 1, greatest - 1]
          return bytes.byteCount == greatest
            && places.allSatisfy { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }
        }
        try expect(isRight == true, "its bytes, \(turn)")
        if turn == 1 {
          try cache.removeValue(forKey: "long")
          try cache.flush()
          try cache.sweepValues()
          try expect(try free(path) > 4_200 << 20, "a value that was removed takes space")
        }
        try cache.close()
      }
    }

    private static func open(_ path: String) throws -> LMDBCache {
      var configuration = CacheConfiguration()
      configuration.disk = .unlimited
      return try LMDBCache(directory: URL(fileURLWithPath: path + "/cache"), configuration: configuration.withoutMemory)
    }

    /// Zeros that take no memory.
    private static func withZeros(_ count: Int, _ body: (Data) throws -> Void) throws {
      guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        memory != MAP_FAILED
      else { throw FullDiskFailure(message: "no address space") }
      defer { munmap(memory, count) }
      try body(Data(bytesNoCopy: memory, count: count, deallocator: .none))
    }

    private static func free(_ path: String) throws -> Int {
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { throw FullDiskFailure(message: "statvfs: \(errno)") }
      return Int(status.f_bavail) * Int(status.f_frsize)
    }

    private static func expect(_ condition: Bool, _ text: String) throws {
      if !condition { throw FullDiskFailure(message: text) }
    }

    private static func expectError(_ code: CacheError.Code, _ body: () throws -> Void) throws {
      do {
        try body()
      } catch let error as CacheError where error.code == code {
        return
      }
      throw FullDiskFailure(message: "no error")
    }

    static func availableMemory() throws -> Int {
      let lines = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8).split(separator: "\n")
      let line = lines.first { $0.hasPrefix("MemAvailable:") }
      return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
  #else
    static func run(_ arguments: [String]) throws {}
    static func availableMemory() throws -> Int { 0 }
  #endif
}
