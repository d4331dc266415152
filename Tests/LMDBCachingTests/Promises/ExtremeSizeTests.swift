import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct ExtremeSizeTests {
  let directory = CacheDirectory()

  static let lengths = [0, 1, 2, 27, 28, 493, 494, 495, 510, 511, 512, 513, 4_095, 65_535, 65_536]

  @Test(arguments: ["k", "NUL", "é", "MAX"]) func aKeyOfAnyLength(_ text: String) throws {
    var steps: [(String, ProcessScript.Answer)] = [
      ("open \(directory.path) journal=65536", .ok), ("set stays v", .ok),
    ]
    for length in Self.lengths { steps.append(("key \(length) \(text)", .ok)) }
    steps += [("get stays", .text("v")), ("count", .text("1")), ("close", .ok)]
    let failures = try ProcessScript(steps).failures(within: 60)
    #expect(failures == [])
  }

  @Test func theLongestKey() throws {
    let failures = try ProcessScript([
      ("open \(directory.path)", .ok), ("set stays v", .ok), ("key \(16 << 20) k", .ok),
      ("refusedkey \(16 << 20 + 1)", .ok), ("get stays", .text("v")), ("count", .text("1")), ("close", .ok),
    ]).failures(within: 120)
    #expect(failures == [])
  }

  /// The bytes are never read, and need no memory.
  @Test func aValueThatIsTooLongIsRefused() throws {
    let failures = try ProcessScript([
      ("open \(directory.path)", .ok), ("set stays v", .ok), ("huge \(1 << 32)", .ok), ("huge \(1 << 33)", .ok),
      ("get stays", .text("v")), ("count", .text("1")), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  /// Around the header's length, the threshold, a quarter of the journal and a page.
  @Test(arguments: [0, 27, 100, 4_000, 4_080, 8_100, 16_250, 16_350]) func aValueOfAnySize(_ first: Int) throws {
    let threshold = 4_096
    let sizes = first..<first + 60
    var random = SeededRandom(UInt64(first))
    let values = sizes.map { Data(random.bytes($0)) }
    func data(_ size: Int) -> Data { values[size - first] }
    func expect(_ cache: LMDBCache, _ place: String) throws {
      for size in sizes {
        let found = try cache.value(Data.self, forKey: "v\(size)")
        #expect(found == data(size), "\(size) bytes, \(place)")
        let disk = try cache.withoutMemory.value(Data.self, forKey: "v\(size)")
        #expect(disk == data(size), "\(size) bytes, \(place)")
        let length = try cache.withBytes(forKey: "v\(size)") { $0.byteCount }
        #expect(length == size, "\(size) bytes, \(place)")
      }
    }
    for limit in [threshold, 1 << 20] {
      let cache = try directory.open { configuration in
        neverCommitting(&configuration)
        configuration.disk.inlineThreshold = limit
        configuration.disk.journalSize = 64 << 10
      }
      for size in sizes { try cache.set(data(size), forKey: "v\(size)") }
      try expect(cache, "memory")
      cache.memory.removeAll()
      try expect(cache, "journal")
      try cache.flush()
      cache.memory.removeAll()
      try expect(cache, "database")
      try cache.write { batch in for size in sizes { batch.set(data(size), forKey: "v\(size)") } }
      cache.memory.removeAll()
      try expect(cache, "batch")
      try cache.close()
      let again = try directory.open()
      try expect(again, "reopened")
      try again.close()
    }
  }
}
