import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct DamageTests {
  let directory = CacheDirectory()

  @Test(arguments: [UInt64](1...4)) func aFlippedBitInTheDatabaseNeverMakesAWrongValue(_ seed: UInt64) throws {
    let cache = try directory.open()
    for index in 0..<300 { try cache.set("value \(index) of the key", forKey: "key\(index)") }
    try cache.close()
    let whole = directory.contents("data.mdb")
    var random = SeededRandom(seed)
    for _ in 0..<8 {
      // Damages only values, not LMDB's own structure.
      var damaged = whole
      let text = Data("value ".utf8)
      let places = (0..<40).compactMap { _ -> Range<Data.Index>? in
        let start = random.below(whole.count - 2_000)
        return damaged.range(of: text, in: start..<damaged.count)
      }
      for place in places { damaged[place.lowerBound + random.below(6)] ^= 1 << UInt8(random.below(8)) }
      let copy = directory.copy()
      copy.write(damaged, to: "data.mdb")
      let reopened = try copy.open()
      var errors = 0
      for index in 0..<300 {
        for _ in 0..<2 {
          do {
            let value = try reopened.value(String.self, forKey: "key\(index)")
            #expect(value == "value \(index) of the key")
          } catch {
            #expect(error.code == .corruptedRecord)
            #expect(errorCode { try reopened.withBytes(forKey: "key\(index)") { _ in } } == .corruptedRecord)
            errors += 1
          }
        }
        // It can be replaced.
        try reopened.set("new", forKey: "key\(index)")
      }
      #expect(errors > 0 || places.isEmpty)
      reopened.memory.removeAll()
      for index in 0..<300 { #expect(try reopened.value(String.self, forKey: "key\(index)") == "new") }
      #expect(try reopened.count == 300)
      try reopened.close()
    }
  }

  @Test func aDamagedOrMissingSegmentIsNoWrongValue() throws {
    let cache = try directory.open {
      // One segment per value.
      $0.disk.inlineThreshold = 100; $0.disk.valueSegmentSize = 4_000
    }
    for index in 0..<6 { try cache.set(Data(repeating: UInt8(index), count: 1_000), forKey: "\(index)") }
    try cache.flush()
    cache.memory.removeAll()
    let files = directory.segments
    var flipped = directory.contents(files[0])
    flipped[600] ^= 4
    directory.write(flipped, to: files[0])
    directory.write(directory.contents(files[1]).prefix(600), to: files[1])
    directory.write(Data(), to: files[2])
    directory.write(directory.contents(files[5]), to: files[3])
    try FileManager.default.removeItem(at: directory.url(files[4]))
    var outcomes: [String: Int] = [:]
    for index in 0..<6 {
      do {
        let value = try cache.value(Data.self, forKey: "\(index)")
        #expect(value == nil || value == Data(repeating: UInt8(index), count: 1_000))
        outcomes[value == nil ? "gone" : "right", default: 0] += 1
      } catch {
        #expect(error.code == .corruptedRecord)
        outcomes["error", default: 0] += 1
      }
    }
    #expect(outcomes == ["gone": 3, "right": 1, "error": 2])
    try cache.close()
  }

  @Test func aDirectoryThatIsRemovedWhileOpenHarmsNothing() throws {
    let cache = try directory.open {
      $0.disk.inlineThreshold = 1_000; $0.disk.groupCommitInterval = .milliseconds(1)
    }
    try cache.set("v", forKey: "key")
    try cache.flush()
    try FileManager.default.removeItem(atPath: directory.path)
    // Until the damage is detected.
    let value = try cache.value(String.self, forKey: "key")
    #expect(value == nil || value == "v")
    for index in 0..<100 { try cache.set(index, forKey: "k\(index)") }
    for index in 0..<100 { #expect(try cache.value(Int.self, forKey: "k\(index)") == index) }
    try cache.set(Data(count: 5_000), forKey: "file")
    try cache.flush()
    #expect(try cache.disk.size > 0)
    try cache.close()
    let reopened = try directory.open()
    #expect(try reopened.value(String.self, forKey: "key") == nil)
    #expect(try reopened.value(Int.self, forKey: "k99") == 99)
    #expect(try reopened.value(Data.self, forKey: "file")?.count == 5_000)
    try reopened.set("new", forKey: "key")
    try reopened.close()
    let again = try directory.open()
    #expect(try again.value(String.self, forKey: "key") == "new")
    try again.close()
  }

  @Test(arguments: [UInt64](1...3)) func aDamagedObjectArchiveIsAnError(_ seed: UInt64) throws {
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: Note(title: "t", count: 1), requiringSecureCoding: true)
    var random = SeededRandom(seed)
    for length in [0, 1, 8, archive.count / 2, archive.count - 1] {
      let code = errorCode {
        try ObjectArchiver.object(
          from: archive.prefix(length), format: .keyedArchive, with: ObjectCoding(), forKey: "key")
      }
      #expect(code == .decodingFailed)
    }
    for _ in 0..<5 {
      let code = errorCode {
        try ObjectArchiver.object(
          from: Data(random.bytes(200)), format: .keyedArchive, with: ObjectCoding(), forKey: "key")
      }
      #expect(code == .decodingFailed)
    }
  }
}
