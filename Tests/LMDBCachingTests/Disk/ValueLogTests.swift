import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Values that are written once, into segments beside the database.
@Suite struct ValueLogTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  /// Segments of 64 KiB, each with about a dozen values.
  private func open(
    _ directory: CacheDirectory? = nil, _ change: (inout CacheConfiguration) -> Void = { _ in }
  ) throws -> LMDBCache {
    try (directory ?? self.directory).open {
      $0.disk.inlineThreshold = 100
      $0.disk.valueSegmentSize = 64 << 10
      $0.memory.countLimit = 0
      $0.clock = .manual(clock)
      change(&$0)
    }
  }

  private func value(_ number: Int, round: Int = 0) -> Data {
    var random = SeededRandom(UInt64(number &* 1_000 &+ round))
    return Data(random.bytes(4_000 + number % 7 * 100))
  }

  private func fill(_ cache: LMDBCache, _ numbers: Range<Int>, round: Int = 0) throws {
    for number in numbers { try cache.set(value(number, round: round), forKey: "key\(number)") }
  }

  private func expect(_ cache: LMDBCache, _ numbers: some Sequence<Int>, round: Int = 0) throws {
    for number in numbers {
      #expect(try cache.value(Data.self, forKey: "key\(number)") == value(number, round: round), "\(number)")
    }
  }

  private func expectCountsAreRight(_ cache: LMDBCache) throws {
    #expect(try cache.diskCache.valueLogFaults() == [])
  }

  @Test func segmentsFillUpAndAreReadByAll() throws {
    let cache = try open()
    try fill(cache, 0..<100)
    try expect(cache, 0..<100)
    try cache.flush()
    #expect(directory.segments.count > 5)
    try expect(cache, 0..<100)
    try expectCountsAreRight(cache)
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("count") == "100")
    #expect(other.run("close") == "ok")
    try cache.close()
    let reopened = try open()
    try expect(reopened, 0..<100)
    try reopened.close()
  }

  /// Sparse segments are emptied, and all that nothing refers to goes.
  @Test(arguments: Durability.allCases) func spaceIsGivenBack(_ durability: Durability) throws {
    let cache = try open { $0.durability = durability }
    try fill(cache, 0..<200)
    try cache.flush()
    let before = try ValueFolder(cache: cache.store.place.directory).segments().reduce(0) { $0 + $1.size }
    for number in 0..<200 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.diskCache.sweepValues()
    let kept = stride(from: 0, to: 200, by: 5)
    try expect(cache, kept)
    let after = try ValueFolder(cache: cache.store.place.directory).segments().reduce(0) { $0 + $1.size }
    let live = try cache.store.database.valueUsage().bytes
    #expect(after < before / 2)
    #expect(after < 2 * live + (128 << 10), "\(after) bytes for \(live)")
    try expectCountsAreRight(cache)
    try cache.removeAll()
    try cache.flush()
    try cache.diskCache.sweepValues()
    #expect(directory.segments.isEmpty)
    try fill(cache, 0..<20, round: 1)
    try cache.close()
    let reopened = try open { $0.durability = durability }
    try expect(reopened, 0..<20, round: 1)
    try reopened.close()
  }

  @Test func itHappensByItself() throws {
    let cache = try open()
    try fill(cache, 0..<200)
    try cache.flush()
    try cache.trim(toCount: 10)
    #expect(
      eventually {
        clock.advance(by: .seconds(2))
        return directory.segments.count <= 3
      })
    try expect(cache, 190..<200)
    try expectCountsAreRight(cache)
    try cache.close()
  }

  @Test func aClosedCacheLeavesNothingOfWhatWasRemoved() throws {
    let cache = try open()
    try fill(cache, 0..<5)
    try cache.removeAll()
    try cache.close()
    #expect(directory.segments.isEmpty)
  }

  // MARK: Who may still read

  @Test func aSnapshotMissesNothing() throws {
    let cache = try open()
    try fill(cache, 0..<50)
    try cache.read { snapshot in
      for number in 0..<50 { try cache.set(value(number, round: 1), forKey: "key\(number)") }
      try cache.flush()
      try cache.diskCache.sweepValues()
      for number in 0..<50 {
        #expect(try snapshot.value(Data.self, forKey: "key\(number)") == value(number), "\(number)")
      }
    }
    try cache.diskCache.sweepValues()
    try expect(cache, 0..<50, round: 1)
    #expect(directory.segments.count < 8)
    try cache.close()
  }

  @Test func aSnapshotOfAnotherProcessMissesNothing() throws {
    let cache = try open()
    let text = String(repeating: "x", count: 5_000)
    try cache.set(text, forKey: "text")
    try cache.flush()
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("snapshot text") == "held")
    try cache.removeAll()
    try cache.flush()
    try cache.diskCache.sweepValues()
    #expect(other.run("release") == text)
    try cache.diskCache.sweepValues()
    #expect(directory.segments.isEmpty)
    #expect(other.run("get text") == "nil")
    #expect(other.run("close") == "ok")
    try cache.close()
  }

  @Test func bytesStayWhileTheyAreBorrowed() throws {
    let cache = try open()
    let large = Data(repeating: 9, count: 100_000)
    try cache.set(large, forKey: "key")
    try cache.flush()
    let isSame = try cache.withBytes(forKey: "key") { bytes -> Bool in
      do {
        try cache.removeAll()
        try cache.flush()
        try cache.diskCache.sweepValues()
      } catch {
        return false
      }
      return bytes.withUnsafeBytes { $0.elementsEqual(large) }
    }
    #expect(isSame == true)
    try cache.diskCache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  // MARK: Processes that end

  /// A process that is killed leaves a segment; the next one goes on with it.
  @Test func shortProcessesLeaveFewSegments() throws {
    var now = directory
    // A process that is killed leaves what it had reserved.
    func open(_ directory: CacheDirectory) throws -> LMDBCache {
      try self.open(directory) { $0.disk.valueSegmentSize = 32 << 20 }
    }
    for number in 0..<20 {
      let cache = try open(now)
      try expect(cache, 0..<number)
      try fill(cache, number..<number + 1)
      if number % 2 == 0 { try cache.flush() }
      let crashed = number % 3 == 0 ? now.crashed(cache) : nil
      try cache.close()
      now = crashed ?? now
    }
    let cache = try open(now)
    try expect(cache, 0..<20)
    #expect(now.segments.count < 3)
    try expectCountsAreRight(cache)
    try cache.close()
  }

  /// A value whose bytes are not there is a write that never happened, and so are those after it.
  @Test func nothingIsReplayedBehindALostValue() throws {
    let cache = try open { neverCommitting(&$0) }
    for number in 0..<3 { try cache.set("before", forKey: "before\(number)") }
    try fill(cache, 0..<3)
    try cache.write { batch in
      batch.set("first", forKey: "first of a batch")
      batch.set(value(7), forKey: "key7")
    }
    try cache.set("after", forKey: "after")
    let crashed = directory.crashed(cache)
    try cache.close()
    let segment = crashed.segments[0]
    var contents = crashed.contents(segment)
    let place = try #require(contents.range(of: value(7)))
    contents[place.lowerBound + 1_000] ^= 1
    crashed.write(contents, to: segment)
    let reopened = try open(crashed)
    #expect(try reopened.entries().map(\.key) == ["before0", "before1", "before2", "key0", "key1", "key2"])
    try expect(reopened, 0..<3)
    try reopened.close()
  }

  // MARK: Files that somebody changes

  @Test(arguments: ["deleted folder", "deleted files", "moved", "older copies"])
  func segmentsComeBackForWhatIsNotCommitted(_ what: String) throws {
    let cache = try open { neverCommitting(&$0) }
    try fill(cache, 0..<5)
    switch what {
    case "deleted folder": try FileManager.default.removeItem(at: directory.url("values"))
    case "moved": try FileManager.default.moveItem(at: directory.url("values"), to: directory.url("elsewhere"))
    default:
      for segment in directory.segments {
        let older = directory.contents(segment).prefix(1_000)
        try FileManager.default.removeItem(at: directory.url(segment))
        if what == "older copies" { directory.write(older, to: segment) }
      }
    }
    try cache.flush()
    try expect(cache, 0..<5)
    try fill(cache, 5..<10)
    try cache.close()
    let reopened = try open()
    try expect(reopened, 0..<10)
    try reopened.close()
  }

  @Test func aSegmentThatIsCutOffIsAnErrorAndNoSignal() throws {
    let cache = try open()
    let large = Data(repeating: 9, count: 1_000_000)
    try cache.set(large, forKey: "key")
    try cache.flush()
    #expect(try cache.withBytes(forKey: "key") { $0.byteCount } == large.count)
    for size in [500_000, 100, 0] {
      truncate(directory.url(directory.segments[0]).path, off_t(size))
      #expect(errorCode { _ = try cache.withBytes(forKey: "key") { $0.byteCount } } == .corruptedRecord)
      #expect(errorCode { _ = try cache.value(Data.self, forKey: "key") } == .corruptedRecord)
    }
    try cache.set(large, forKey: "key")
    #expect(try cache.value(Data.self, forKey: "key") == large)
    try cache.close()
  }

  /// Whoever can write to the directory can make counts that say that nothing refers to a segment.
  @Test func countsThatAreWrongAreCorrected() throws {
    let cache = try open()
    try fill(cache, 0..<30)
    try cache.close()
    let environment = try Environment.open(directory: directory.path)
    let transaction = try environment.beginWrite()
    let right = directory.segments.count
    for name in directory.segments {
      let identifier = try #require(ValueSegment.identifier(ofName: String(name.dropFirst("values/".count))))
      try SegmentUsage.key(identifier).withBytes { _ = try transaction.remove(forKey: $0) }
    }
    try transaction.commit()
    environment.close()
    let reopened = try open { $0.disk.verification = .always }
    try reopened.diskCache.sweepValues()
    try expect(reopened, 0..<30)
    #expect(directory.segments.count == right)
    try expectCountsAreRight(reopened)
    try reopened.close()
  }

  /// A hole in a segment, where a value could not be written, hides nothing behind it.
  @Test func whatIsBehindAHoleIsMoved() throws {
    let cache = try open()
    try fill(cache, 0..<3)
    let session = FaultInjection.begin(
      .directory(directory.path + "/values"), [.init(.pwrite, returns: ENOSPC, count: 1)])
    #expect(errorCode { try cache.diskCache.set(value(50), forKey: "key50") } == .noSpace)
    FaultInjection.end(session)
    try fill(cache, 3..<40)
    try cache.flush()
    for number in 0..<40 where number % 6 != 5 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.diskCache.sweepValues()
    try expect(cache, stride(from: 5, to: 40, by: 6))
    #expect(try cache.value(Data.self, forKey: "key50") == nil)
    try expectCountsAreRight(cache)
    try cache.close()
  }

  /// A value that is damaged stays where it is, and is looked at once.
  @Test func aDamagedValueKeepsItsSegment() throws {
    let cache = try open()
    try fill(cache, 0..<10)
    try cache.flush()
    let segment = directory.segments[0]
    var contents = directory.contents(segment)
    let place = try #require(contents.range(of: value(4)))
    contents[place.lowerBound + 10] ^= 1
    let file = try FileHandle(forWritingTo: directory.url(segment))
    try file.write(contentsOf: contents)
    try file.close()
    for number in 0..<10 where number != 4 && number != 8 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.diskCache.sweepValues()
    try expect(cache, [8])
    #expect(errorCode { _ = try cache.value(Data.self, forKey: "key4") } == .corruptedRecord)
    #expect(directory.segments.contains(segment))
    try cache.close()
  }

  /// Reading fails with an error where the device does.
  @Test func aDeviceThatFailsIsAnError() throws {
    let cache = try open()
    try cache.set(value(1), forKey: "key")
    try cache.flush()
    let session = FaultInjection.begin(
      .directory(directory.path + "/values"), [.init(.pread, returns: EIO, count: .max)])
    #expect(errorCode { _ = try cache.value(Data.self, forKey: "key") } == .storageFailed)
    #expect(errorCode { _ = try cache.withBytes(forKey: "key") { $0.byteCount } } == .storageFailed)
    FaultInjection.end(session)
    #expect(try cache.value(Data.self, forKey: "key") == value(1))
    try cache.close()
  }

  // MARK: Sizes

  /// Longer than what one system call writes.
  @Test(.disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "it takes a sanitizer minutes"))
  func aValueOfMoreThanTwoGibibytes() throws {
    let length = (2 << 30) + 12_345
    var value = Data(count: length)
    for place in [0, 1 << 20, 0x7FFF_EFFF, 0x7FFF_F000, 1 << 31, length - 1] { value[place] = UInt8(place % 251 + 1) }
    let cache = try directory.openDisk { $0.durability = .fast }
    try cache.set("beside", forKey: "text")
    try cache.set(value, forKey: "key")
    #expect(try cache.value(forKey: "key") == value)
    #expect(try cache.entries().map(\.size) == [length, 6])
    #expect(
      try cache.withBytes(forKey: "key") { $0.unsafeLoad(fromByteOffset: 1 << 31, as: UInt8.self) } == value[1 << 31])
    try cache.removeValue(forKey: "key")
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  // MARK: Many at once

  /// Whoever synchronizes finds everything durable that was appended before, though another thread is at it.
  @Test func nobodyGoesOnBeforeAnothersSynchronization() throws {
    let log = ValueLog(
      CurrentDirectory(try Directory(path: directory.path)), durability: .ordered, segmentSize: 1 << 20)
    let bytes = [UInt8](repeating: 1, count: 1_000)
    let appended = try bytes.withUnsafeBytes { value in
      try bytes.prefix(5).withUnsafeBytes { try log.append(value, key: $0, owner: 1) }
    }
    // The first one fails after a while; the second one must not have said meanwhile that all is done.
    let session = FaultInjection.begin(
      .directory(directory.path + "/values"), [.init(.fsync, returns: EIO, count: .max)])
    let failures = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<50 { if (try? log.synchronize()) == nil { failures.add(1, ordering: .relaxed) } }
    }
    FaultInjection.end(session)
    #expect(failures.load(ordering: .relaxed) == 200)
    try log.synchronize()
    appended.end()
    log.close()
  }

  /// A segment is let go of only when the journal has all of its records.
  @Test func aSegmentIsHeldUntilItsRecordsAreCommitted() throws {
    let log = ValueLog(
      CurrentDirectory(try Directory(path: directory.path)), durability: .ordered, segmentSize: 1 << 20)
    let bytes = [UInt8](repeating: 1, count: 1_000)
    let appended = try bytes.withUnsafeBytes { value in
      try bytes.prefix(5).withUnsafeBytes { try log.append(value, key: $0, owner: 1) }
    }
    log.retire(appended.pointer.segment)
    log.release { (last: 7, committed: 7) }
    #expect(log.hasRetired, "its record is in no journal yet")
    // The record goes into segment 8, and the value is told to be done with, before the journal is asked.
    appended.end()
    log.release { (last: 8, committed: 7) }
    #expect(log.hasRetired, "its record is not committed yet")
    log.release { (last: 9, committed: 8) }
    #expect(!log.hasRetired)
    log.close()
  }
}
