import Foundation
import LMDBCaching
import Platform
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Values of gigabytes on a tmpfs, in its own mount namespace: on a small one (`cut DIRECTORY`), whose end cuts them off,
/// or on a large one (`longest DIRECTORY`), which takes the longest value, and not one byte more. Prints the faults.
struct LongValueStage: TrialRole {
  static let name = "long-value-stage"

  private static let greatest = 1 << 32 - 1

  #if os(Linux)
    static func run(_ arguments: [String]) throws {
      let (isLong, path) = (arguments[0] == "longest", arguments[1])
      try FullDiskPlace.tmpfs.mount(at: path, size: isLong ? 4_300 << 20 : 64 << 20)
      do { try isLong ? store(path) : cutOff(path) } catch { answer("\(error)") }
      if umount2(path, Int32(MNT_DETACH)) != 0 { answer("umount2: \(errno)") }
    }

    private static func expect(_ condition: Bool, _ text: String) { if !condition { answer(text) } }

    private static func open(_ path: String) throws -> LMDBCache {
      try TrialCache.open(path + "/cache") {
        $0.disk = .unlimited
        $0.disk.journalSize = 1 << 20
        $0.memory = .off
      }
    }

    /// Stores a value that the cache must refuse.
    private static func refuse(_ count: Int, _ code: CacheError.Code, by cache: LMDBCache) throws {
      try withZeros(count) { value in
        do throws(CacheError) {
          try cache.set(value, forKey: "long")
          answer("a value of \(count) bytes is stored")
        } catch {
          expect(error.code == code, "a value of \(count) bytes: \(error)")
        }
      }
    }

    /// Before the first byte if the file system reserves blocks; otherwise during the second write call.
    private static func cutOff(_ path: String) throws {
      let cache = try open(path)
      try cache.set("older", forKey: "long")
      try cache.flush()
      for reserves in [true, false] {
        let session = FaultInjection.begin(
          .directory(path + "/cache/values"), reserves ? [] : [.init(.fallocate, returns: 0, count: .max)])
        let before = free(path)
        try refuse(2 << 30 + 12_345, .noSpace, by: cache)
        FaultInjection.end(session)
        expect(try cache.value(String.self, forKey: "long") == "older", "the older value is lost")
        expect(cache.health.isHealthy, "\(cache.health)")
        // The segment in use may have reserved some.
        expect(before - free(path) < 2 << 20, "the appended part takes space, reserving: \(reserves)")
      }
      try withZeros(30_000_000) { try cache.set($0, forKey: "long") }
      try cache.close()
      let reopened = try open(path)
      expect(try reopened.withBytes(forKey: "long") { $0.byteCount } == 30_000_000, "a value that fits is lost")
      try reopened.close()
    }

    private static func store(_ path: String) throws {
      var cache = try open(path)
      try withZeros(greatest) { try cache.set($0, forKey: "long") }
      try refuse(greatest + 1, .invalidArgument, by: cache)
      try cache.close()
      cache = try open(path)
      expect(try cache.entries().map(\.size) == [greatest], "its length")
      let isRight = try cache.withBytes(forKey: "long") { bytes in
        let places = [0, 1 << 31, 1 << 31 + 1, greatest - 1]
        return bytes.byteCount == greatest
          && places.allSatisfy { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 0 }
      }
      expect(isRight == true, "its bytes")
      try cache.removeValue(forKey: "long")
      try cache.flush()
      try cache.sweepValues()
      expect(free(path) > 4_200 << 20, "a value that was removed takes space")
      try cache.close()
    }

    private static func free(_ path: String) -> Int {
      var status = statvfs()
      return statvfs(path, &status) == 0 ? Int(status.f_bavail) * Int(status.f_frsize) : 0
    }

    /// Zeros that take no memory.
    private static func withZeros(_ count: Int, _ body: (Data) throws -> Void) throws {
      guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        memory != MAP_FAILED
      else { throw CacheError(.storageFailed, "no address space") }
      defer { munmap(memory, count) }
      try body(Data(bytesNoCopy: memory, count: count, deallocator: .none))
    }

    /// Whether 6 GiB are available, an upper bound of the use.
    static var hasMemory: Bool {
      let lines = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8))?.split(separator: "\n")
      let line = lines?.first { $0.hasPrefix("MemAvailable:") }
      return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 > 6 << 20
    }
  #else
    static func run(_ arguments: [String]) throws {}
    static var hasMemory: Bool { false }
  #endif
}
