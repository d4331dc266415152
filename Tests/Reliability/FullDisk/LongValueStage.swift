import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#endif

/// Stores the longest value, and tries one byte more, on a tmpfs in its own mount namespace.
///
/// Argument: a directory. Prints what is wrong.
struct LongValueStage: TrialRole {
  static let name = "long-value-stage"

  private static let greatest = 1 << 32 - 1
  private static let size = 4_300 << 20
  /// An upper bound of the memory used, in bytes.
  static let memory = 6 << 30

  #if os(Linux)
    static func run(_ arguments: [String]) throws {
      let path = arguments[0]
      try FullDiskPlace.tmpfs.mount(at: path, size: size)
      do { try store(path) } catch { answer("\(error)") }
      if umount2(path, Int32(MNT_DETACH)) != 0 { answer("umount2: \(errno)") }
    }

    private static func store(_ path: String) throws {
      func open() throws -> LMDBCache {
        try TrialCache.open(path + "/cache") {
          $0.disk = .unlimited
          $0.memory = .off
        }
      }
      func expect(_ condition: Bool, _ text: String) { if !condition { answer(text) } }
      var cache = try open()
      try withZeros(greatest) { try cache.set($0, forKey: "long") }
      try withZeros(greatest + 1) { value in
        do throws(CacheError) {
          try cache.set(value, forKey: "long")
          answer("a longer value is stored")
        } catch {
          expect(error.code == .invalidArgument, "a longer value: \(error)")
        }
      }
      for turn in ["written", "reopened"] {
        expect(try cache.entries().map(\.size) == [greatest], "its length, \(turn)")
        let isRight = try cache.withBytes(forKey: "long") { bytes in
          let places = [0, 1 << 31, 1 << 31 + 1, greatest - 1]
          return bytes.byteCount == greatest
            && places.allSatisfy { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }
        }
        expect(isRight == true, "its bytes, \(turn)")
        try cache.close()
        cache = try open()
      }
      try cache.removeValue(forKey: "long")
      try cache.flush()
      try cache.sweepValues()
      var status = statvfs()
      expect(
        statvfs(path, &status) == 0 && Int(status.f_bavail) * Int(status.f_frsize) > 4_200 << 20,
        "a value that was removed takes space")
      try cache.close()
    }

    /// Zeros that take no memory.
    private static func withZeros(_ count: Int, _ body: (Data) throws -> Void) throws {
      guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        memory != MAP_FAILED
      else { throw FullDiskFailure("no address space") }
      defer { munmap(memory, count) }
      try body(Data(bytesNoCopy: memory, count: count, deallocator: .none))
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
