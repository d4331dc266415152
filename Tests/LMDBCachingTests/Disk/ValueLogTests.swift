import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueLogTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  @Test func segmentsFillUpAndAreReadByAll() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<100)
    try values.expect(cache, 0..<100)
    try cache.flush()
    #expect(directory.segments.count > 5)
    try values.expect(cache, 0..<100)
    try values.expectCountsAreRight(cache)
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("count") == "100")
    #expect(other.run("close") == "ok")
    try cache.close()
    let reopened = try values.open()
    try values.expect(reopened, 0..<100)
    try reopened.close()
  }

  /// The caller may hold the identifier of a journal that has since been replaced.
  @Test func aSegmentStaysWithTheJournalThatItGoesTo() throws {
    let log = try values.log()
    let first = try values.append(0, to: log)
    try log.follow(journal: 2)
    let second = try values.append(1, to: log)
    let name = String(try #require(directory.segments.first).dropFirst("values/".count))
    let identifier = try #require(ValueSegment.identifier(ofName: name))
    let file = try Directory(path: directory.url("values").path).create(name)
    #expect(try ValueSegment.owner(file, identifier: identifier) == 2)
    first.end()
    second.end()
    log.close()
  }

  #if os(Linux)
    /// Freeing a removed file's blocks on close is slow, so no reader or commit waits for it.
    @Test func removedSegmentsAreClosedByAnotherThread() throws {
      let cache = try values.open()
      try values.fill(cache, 0..<100)
      try cache.flush()
      // Opens the segments.
      try values.expect(cache, 0..<100)
      let (isHeld, isReleased) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      SegmentClosing.release(
        LastWish {
          isHeld.signal()
          isReleased.wait()
        })
      isHeld.wait()
      // Releases the shared thread even when an expectation fails.
      defer { isReleased.signal() }
      try cache.removeAll()
      try cache.flush()
      // The writer thread removes them without waiting for that thread.
      func removed() -> Int { directory.openFiles().count { $0.hasPrefix("values/") && $0.hasSuffix("(deleted)") } }
      #expect(
        eventually {
          values.clock.advance(by: .seconds(2))
          return removed() > 2 && directory.segments.count < 2
        })
      try cache.set("v", forKey: "key")
      try cache.flush()
      #expect(removed() > 2)
      isReleased.signal()
      #expect(eventually { removed() == 0 })
      try cache.close()
    }
  #endif

  @Test func nothingIsAppendedToAClosedLog() throws {
    let log = try values.log()
    log.close()
    #expect(throws: SystemError.self) { try values.append(0, to: log) }
    #expect(directory.segments.isEmpty)
  }

  @Test(arguments: Durability.allCases) func spaceIsGivenBack(_ durability: Durability) throws {
    let cache = try values.open { $0.durability = durability }
    try values.fill(cache, 0..<200)
    try cache.flush()
    let before = try ValueFolder(cache: cache.store.place.directory).segments().reduce(0) { $0 + $1.size }
    for number in 0..<200 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.sweepValues()
    let kept = stride(from: 0, to: 200, by: 5)
    try values.expect(cache, kept)
    let after = try ValueFolder(cache: cache.store.place.directory).segments().reduce(0) { $0 + $1.size }
    let live = try cache.store.database.valueUsage().bytes
    #expect(after < before / 2)
    #expect(after < 2 * live + (128 << 10), "\(after) bytes for \(live)")
    try values.expectCountsAreRight(cache)
    try cache.removeAll()
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try values.fill(cache, 0..<20, round: 1)
    try cache.close()
    let reopened = try values.open { $0.durability = durability }
    try values.expect(reopened, 0..<20, round: 1)
    try reopened.close()
  }

  @Test func itHappensByItself() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<200)
    try cache.flush()
    try cache.trim(to: .count(10))
    #expect(
      eventually {
        values.clock.advance(by: .seconds(2))
        return directory.segments.count <= 3
      })
    try values.expect(cache, 190..<200)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }

  @Test func shortSegmentsBecomeFew() throws {
    let cache = try values.open()
    for number in 0..<40 {
      try cache.set(values.value(number).prefix(2_000), forKey: "key\(number)")
      cache.store.values.retire(try #require(cache.store.values.active).identifier)
    }
    try cache.flush()
    #expect(directory.segments.count == 40)
    try cache.sweepValues()
    #expect(directory.segments.count < 20)
    for number in 0..<40 {
      #expect(try cache.value(Data.self, forKey: "key\(number)") == values.value(number).prefix(2_000))
    }
    try values.expectCountsAreRight(cache)
    try cache.close()
  }

  @Test func statisticsTellWhatTheSpaceIsUsedFor() throws {
    let cache = try values.open()
    func bytes() -> (live: Int, dead: Int, free: Int) {
      let statistics = cache.statistics
      return (statistics.liveBytes, statistics.deadBytes, statistics.freeBytes)
    }
    let empty = bytes()
    #expect(empty.dead == 0)
    try values.fill(cache, 0..<100)
    try cache.flush()
    let size = (0..<100).reduce(0) { $0 + values.value($1).count }
    let full = bytes()
    #expect(full.live > size && full.live < size + size / 8)
    #expect(full.dead < 16 << 10)
    #expect(full.free < 1 << 20)
    for number in 0..<50 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    let half = bytes()
    #expect(half.live < full.live - size / 3)
    #expect(half.dead > size / 3)
    try cache.sweepValues()
    let swept = bytes()
    #expect(swept.live < full.live - size / 3)
    #expect(swept.dead < size / 6, "\(swept.dead)")
    // The three numbers cover the files, except for file headers and the journal.
    let files = try cache.disk.size
    #expect(swept.live + swept.dead + swept.free <= files)
    try cache.close()
  }

  // MARK: Who may still read

  @Test func aSnapshotOfAnotherProcessMissesNothing() throws {
    let cache = try values.open()
    let text = String(repeating: "x", count: 5_000)
    try cache.set(text, forKey: "text")
    try cache.flush()
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("snapshot text") == "held")
    try cache.removeAll()
    try cache.flush()
    try cache.sweepValues()
    #expect(other.run("release") == text)
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    #expect(other.run("get text") == "nil")
    #expect(other.run("close") == "ok")
    try cache.close()
  }

  /// A segment seen before its record was committed may become used and unused before the next scan.
  @Test func aSnapshotMissesNothingOfWhatWasLookedAtBefore() throws {
    let cache = try values.open { neverCommitting(&$0) }
    let store = cache.store
    func look() throws {
      try store.onWriterThread {
        store.valueKeeper.makeRound()
        return .success(())
      }
    }
    // The value has its own segment, whose length never changes.
    let value = Data(repeating: 7, count: 40_000)
    try cache.set(value, forKey: "key")
    try look()
    try cache.flush()
    try cache.read { snapshot in
      try cache.removeValue(forKey: "key")
      try cache.flush()
      try look()
      try look()
      #expect(try snapshot.value(Data.self, forKey: "key") == value)
    }
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  /// Another process reuses an unused segment, and releases it before the next scan.
  @Test func aSnapshotOfAnotherProcessMissesNothingOfWhatWasTakenUpAgain() throws {
    let cache = try values.open { neverCommitting(&$0) }
    try values.fill(cache, 0..<1)
    cache.store.values.retire(try #require(cache.store.values.active).identifier)
    try cache.flush()
    let text = String(repeating: "x", count: 5_000)
    let (writer, reader) = (try cacheProcess(), try cacheProcess())
    try cache.read { _ in
      try cache.removeAll()
      try cache.flush()
      // This snapshot retains it.
      try cache.sweepValues()
      #expect(directory.segments.count == 1)
      // Its clock stands still, so it makes no scans.
      #expect(writer.run("open \(directory.path) wall=1700000000000000000") == "ok")
      #expect(writer.run("set text \(text)") == "ok")
      #expect(writer.run("flush") == "ok")
      #expect(directory.segments.count == 1, "it was not taken up again")
      #expect(reader.run("open \(directory.path)") == "ok")
      #expect(reader.run("snapshot text") == "held")
      #expect(writer.run("remove text") == "ok")
      #expect(writer.run("close") == "ok")
    }
    try cache.sweepValues()
    #expect(reader.run("release") == text)
    #expect(reader.run("close") == "ok")
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  @Test func bytesStayWhileTheyAreBorrowed() throws {
    let cache = try values.open()
    let large = Data(repeating: 9, count: 100_000)
    try cache.set(large, forKey: "key")
    try cache.flush()
    let isSame = try cache.withBytes(forKey: "key") { bytes -> Bool in
      do {
        try cache.removeAll()
        try cache.flush()
        try cache.sweepValues()
      } catch {
        return false
      }
      return bytes.withUnsafeBytes { $0.elementsEqual(large) }
    }
    #expect(isSame == true)
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  // MARK: Sizes

  /// Longer than one system call writes.
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

  /// A synchronization must wait for another thread's, until all earlier appends are durable.
  @Test func nobodyGoesOnBeforeAnothersSynchronization() throws {
    let log = try values.log()
    let appended = try values.append(0, to: log)
    // The first one fails slowly; the second must not report success meanwhile.
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

  /// A segment is released only when the journal has all its records.
  @Test func aSegmentIsHeldUntilItsRecordsAreCommitted() throws {
    let log = try values.log()
    let appended = try values.append(0, to: log)
    log.retire(appended.pointer.segment)
    log.release { (last: 7, committed: 7) }
    #expect(log.hasRetired, "its record is in no journal yet")
    // The record goes into segment 8, and the value is marked as done before the journal is asked.
    appended.end()
    log.release { (last: 8, committed: 7) }
    #expect(log.hasRetired, "its record is not committed yet")
    log.release { (last: 9, committed: 8) }
    #expect(!log.hasRetired)
    log.close()
  }
}
