import Platform
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// A damaged journal loses its content from the damage on, and nothing else.
@Suite struct JournalFileTests {
  let directory = CacheDirectory()

  /// Files of a process killed after some writes, and the number of journal bytes in use.
  func crashed(_ write: (LMDBCache) throws -> Void) throws -> (CacheDirectory, journal: String, used: Int) {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.journalSize = 64 << 10
    }
    try cache.set("committed", forKey: "base")
    try cache.set("base", forKey: "key2")
    try cache.flush()
    try write(cache)
    let used = cache.store.journal.lock.withLock { cache.store.journal.state.active!.used }
    let copy = directory.crashed(cache)
    try cache.close()
    return (copy, copy.journals[0], used)
  }

  static func contents(_ directory: CacheDirectory) throws -> [String: String] {
    let cache = try directory.open()
    var contents: [String: String] = [:]
    for entry in try cache.entries() {
      contents[entry.key] = try cache.value(String.self, forKey: entry.key) ?? "(gone)"
    }
    #expect(try cache.count == contents.count)
    try cache.close()
    // A file without a journal's name or header is kept; an unreadable journal is renamed.
    for name in directory.journals where name != JournalName.folder + "/" + JournalFolder.damagedName {
      let isNamedSo = JournalName.identifier(of: (name as NSString).lastPathComponent) != nil
      #expect(!isNamedSo || !JournalFile.isOurs(Array(directory.contents(name).prefix(8))))
    }
    return contents
  }

  /// The frames of the segment in use.
  static func frames(_ journal: Data) -> [(range: Range<Int>, frame: [UInt8])] {
    journal.withBytes { bytes in
      let image = JournalImage.read(bytes)!
      return image.frames.map { (image.range(of: $0), Array(bytes[image.range(of: $0)])) }
    }
  }

  @Test func aTornTailIsEveryByteOfTheLastFrameTornOff() throws {
    let (crashed, name, _) = try crashed { cache in
      try cache.set("one", forKey: "key1")
      try cache.set("two", forKey: "key2")
    }
    let whole = crashed.contents(name)
    let last = Self.frames(whole).last!.range
    let base = crashed.copy()
    for cut in last {
      var torn = whole
      for index in cut..<last.upperBound { torn[index] = 0 }
      if torn == whole { continue }
      let torn2 = base.copy()
      torn2.write(torn, to: name)
      #expect(try Self.contents(torn2) == ["base": "committed", "key1": "one", "key2": "base"], "cut at \(cut)")
    }
  }

  @Test(arguments: [UInt64(1), 2, 3]) func aFlippedBitNeverMakesAWrongValue(_ seed: UInt64) throws {
    let (crashed, name, used) = try crashed { cache in
      for index in 0..<6 { try cache.set("v\(index)", forKey: "key\(index)") }
      try cache.removeValue(forKey: "key1")
      try cache.removeAll(.prefix("key4"))
      try cache.set(String(repeating: "x", count: 600), forKey: String(repeating: "long", count: 200))
    }
    let whole = crashed.contents(name)
    let allowed: [String: Set<String>] = [
      "base": ["committed"], "key0": ["v0"], "key1": ["v1"], "key2": ["base", "v2"], "key3": ["v3"], "key4": ["v4"],
      "key5": ["v5"], String(repeating: "long", count: 200): [String(repeating: "x", count: 600)],
    ]
    var random = SeededRandom(seed)
    for _ in 0..<60 {
      var flipped = whole
      // The file header, the segment headers and the frames.
      let range = [0..<64, JournalFile.headerSize..<JournalFile.headerSize + used].randomElement(using: &random)!
      let index = Int.random(in: range, using: &random)
      flipped[index] ^= 1 << UInt8(random.below(8))
      let copy = crashed.copy()
      copy.write(flipped, to: name)
      for (key, value) in try Self.contents(copy) {
        #expect(allowed[key]?.contains(value) == true, "byte \(index): \(key) = \(value)")
      }
    }
  }

  @Test func aBatchWhoseEndIsMissingNeverHappened() throws {
    let (crashed, name, _) = try crashed { cache in
      try cache.set("before", forKey: "key1")
      // Like `write`, without waiting for the commit.
      let batch = BatchFrames(isAwaited: false)
      for index in 0..<4 {
        try ValueArchiver.withArchive(of: "batch") { (format, bytes) throws(CacheError) in
          try CacheKey.with("key\(index)") { (key) throws(CacheError) in
            let header = try cache.store.header(for: key, format, bytes, expires: 0, cost: nil)
            try cache.store.put(key, header: header, payload: bytes, through: .none, into: batch)
          }
        }
      }
      cache.store.journal.lock.withLock {
        var stamp = cache.store.journal.state.stamps.last
        cache.store.journal.state.active?.append(batch) { _ in
          stamp += 1
          return stamp
        }
      }
    }
    let whole = crashed.contents(name)
    let frames = Self.frames(whole)
    #expect(frames.count == 5)
    for count in 1...4 {
      var cut = whole
      for index in frames[count].range.lowerBound..<frames[4].range.upperBound { cut[index] = 0 }
      let copy = crashed.copy()
      copy.write(cut, to: name)
      #expect(try Self.contents(copy) == ["base": "committed", "key1": "before", "key2": "base"], "\(count)")
    }
    #expect(try Self.contents(crashed)["key3"] == "batch")
  }

  @Test(arguments: Array(0..<40)) func aHostileJournalIsIgnored(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let (crashed, name, _) = try crashed { try $0.set("v", forKey: "key") }
    var journal = crashed.contents(name)
    func store<T: FixedWidthInteger>(_ value: T, _ offset: Int) {
      withUnsafeBytes(of: value.littleEndian) { journal.replaceSubrange(offset..<offset + $0.count, with: $0) }
    }
    let frame = Self.frames(journal)[0].range.lowerBound
    let lengths: [UInt32] = [.max, .max - 7, 1 << 31, 0x7FFF_FFFF, 65_536, 32_768, 1, 0]
    switch seed {
    case 0: journal = Data()
    case 1: journal = Data(random.bytes(100))
    case 2: journal = Data(random.bytes(100_000))
    case 3: journal = journal.prefix(JournalFile.headerSize)
    case 4: journal = journal.prefix(frame + 10)
    case 5..<13: store(lengths[Int(seed) - 5], frame)
    case 13..<21: store(lengths[Int(seed) - 13], frame + 24)
    case 21..<29: store(lengths[Int(seed) - 21], frame + 28)
    default:
      for _ in 0..<20 { journal[Int.random(in: frame..<frame + 120, using: &random)] = UInt8(random.below(256)) }
    }
    crashed.write(journal, to: name)
    crashed.write(Data(random.bytes(5_000)), to: JournalName.folder + "/0123456789abcdef.journal")
    crashed.write(Data(), to: JournalName.folder + "/short.journal")
    let contents = try Self.contents(crashed)
    #expect(contents == ["base": "committed", "key2": "base"])
  }

  @Test(arguments: [UInt64.max, 1 << 62, 1 << 40, 0, 4_095, 1 << 31]) func aHeaderThatLiesAboutSegmentsIsIgnored(
    _ size: UInt64
  ) throws {
    let (crashed, name, _) = try crashed { try $0.set("v", forKey: "key") }
    var journal = crashed.contents(name)
    withUnsafeBytes(of: size.littleEndian) { journal.replaceSubrange(16..<24, with: $0) }
    // With a valid checksum.
    let hash = journal.withBytes { RecordHeader.keyHash($0[..<32]) }
    withUnsafeBytes(of: hash.littleEndian) { journal.replaceSubrange(32..<40, with: $0) }
    crashed.write(journal, to: name)
    let contents = try Self.contents(crashed)
    #expect(contents["base"] == "committed" && contents["key2"] == "base")
  }
}
