import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueLogDamageTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  // MARK: Processes that end

  @Test func shortProcessesLeaveFewSegments() throws {
    var now = directory
    // A killed process leaves its reserved space.
    func openLong(_ directory: CacheDirectory) throws -> LMDBCache {
      try values.open(directory) { $0.disk.valueSegmentSize = 32 << 20 }
    }
    for number in 0..<20 {
      let cache = try openLong(now)
      try values.expect(cache, 0..<number)
      try values.fill(cache, number..<number + 1)
      if number % 2 == 0 { try cache.flush() }
      let crashed = number % 3 == 0 ? now.crashed(cache) : nil
      try cache.close()
      now = crashed ?? now
    }
    let cache = try openLong(now)
    try values.expect(cache, 0..<20)
    #expect(now.segments.count < 3)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }

  /// A value with missing bytes is a write that never happened. After a power cut later writes are dropped too; within
  /// a run of the system they are kept.
  @Test(arguments: [true, false]) func nothingIsReplayedBehindALostValue(_ wasPowerCut: Bool) throws {
    let cache = try values.open { neverCommitting(&$0) }
    for number in 0..<3 { try cache.set("before", forKey: "before\(number)") }
    try values.fill(cache, 0..<3)
    try cache.write { batch in
      batch.set("first", forKey: "first of a batch")
      batch.set(values.value(7), forKey: "key7")
    }
    try cache.set("after", forKey: "after")
    let crashed = directory.crashed(cache)
    try cache.close()
    if wasPowerCut { crashed.makeJournalsOlder() }
    let segment = crashed.segments[0]
    var contents = crashed.contents(segment)
    let place = try #require(contents.range(of: values.value(7)))
    contents[place.lowerBound + 1_000] ^= 1
    crashed.write(contents, to: segment)
    let reopened = try values.open(crashed)
    let expected = ["before0", "before1", "before2", "key0", "key1", "key2"]
    let later = wasPowerCut ? [] : ["after", "first of a batch"]
    #expect(try reopened.entries().map(\.key).sorted() == (expected + later).sorted())
    #expect(try reopened.value(Data.self, forKey: "key7") == nil)
    try values.expect(reopened, 0..<3)
    try reopened.close()
  }

  // MARK: Files that somebody changes

  @Test(arguments: ["deleted folder", "deleted files", "moved", "older copies"])
  func segmentsComeBackForWhatIsNotCommitted(_ what: String) throws {
    let cache = try values.open { neverCommitting(&$0) }
    try values.fill(cache, 0..<5)
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
    try values.expect(cache, 0..<5)
    try values.fill(cache, 5..<10)
    try cache.close()
    let reopened = try values.open()
    try values.expect(reopened, 0..<10)
    try reopened.close()
  }

  @Test func aSegmentThatIsCutOffIsAnErrorAndNoSignal() throws {
    let cache = try values.open()
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

  /// A failed value write leaves a hole in its segment.
  @Test func whatIsBehindAHoleIsMoved() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<3)
    let session = FaultInjection.begin(
      .directory(directory.path + "/values"), [.init(.pwrite, returns: ENOSPC, count: 1)])
    #expect(errorCode { try cache.write { $0.set(values.value(50), forKey: "key50") } } == .noSpace)
    FaultInjection.end(session)
    try values.fill(cache, 3..<40)
    try cache.flush()
    for number in 0..<40 where number % 6 != 5 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.sweepValues()
    try values.expect(cache, stride(from: 5, to: 40, by: 6))
    #expect(try cache.value(Data.self, forKey: "key50") == nil)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }

  /// A damaged value is not moved, and is checked once.
  @Test func aDamagedValueKeepsItsSegment() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<10)
    try cache.flush()
    let segment = directory.segments[0]
    var contents = directory.contents(segment)
    let place = try #require(contents.range(of: values.value(4)))
    contents[place.lowerBound + 10] ^= 1
    let file = try FileHandle(forWritingTo: directory.url(segment))
    try file.write(contentsOf: contents)
    try file.close()
    for number in 0..<10 where number != 4 && number != 8 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.sweepValues()
    try values.expect(cache, [8])
    #expect(errorCode { _ = try cache.value(Data.self, forKey: "key4") } == .corruptedRecord)
    #expect(directory.segments.contains(segment))
    try cache.close()
  }

  /// A rebuilt database gets everything from its journals. Where a value is lost, so is the one it replaced.
  @Test func aRebuiltDatabaseLosesNothingBehindAValueThatIsGone() throws {
    let cache = try values.open { neverCommitting(&$0) }
    try cache.set("older", forKey: "key1")
    try values.fill(cache, 0..<3)
    try cache.set("after", forKey: "after")
    let (name, journal) = (directory.journals[0], directory.contents(directory.journals[0]))
    try cache.flush()
    try cache.removeAll()
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try values.fill(cache, 10..<12)
    try cache.flush()
    let crashed = directory.crashed(cache)
    try cache.close()
    crashed.write(journal, to: name)
    crashed.miscount()
    let reopened = try values.open(crashed)
    #expect(reopened.recovery != nil)
    #expect(try reopened.entries().map(\.key) == ["after"])
    #expect(try reopened.value(String.self, forKey: "after") == "after")
    try reopened.sweepValues()
    try values.expectCountsAreRight(reopened)
    try reopened.close()
  }

  /// The record of a long key stores the key before the pointer, on its own page.
  @Test(arguments: [600, 5_000, 70_000]) func valuesOfLongKeysAreCounted(_ length: Int) throws {
    let key = String(repeating: "k", count: length)
    let cache = try values.open()
    try cache.set(values.value(1), forKey: key)
    try values.expectCountsAreRight(cache)
    try cache.close()
    let reopened = try values.open { $0.disk.verification = .always }
    try reopened.sweepValues()
    #expect(try reopened.value(Data.self, forKey: key) == values.value(1))
    try values.expectCountsAreRight(reopened)
    try reopened.close()
  }

  /// A forged record may point anywhere.
  @Test(arguments: [1 << 20, 1 << 32, 1 << 40, 1 << 62, .max - 64] as [Int], [false, true])
  func aPointerToMoreThanThereIsIsDamage(_ length: Int, _ isThere: Bool) throws {
    let log = try values.log()
    let value = try values.append(1, to: log)
    try log.synchronize()
    // The file is sparse. No value is that long, and memory could not hold it.
    if isThere { try #require(truncate(directory.url(directory.segments[0]).path, 1 << 42) == 0) }
    let pointer = value.pointer
    let forged = ValuePointer(segment: pointer.segment, offset: pointer.offset, length: length, hash: pointer.hash)
    let place = CurrentDirectory(try Directory(path: directory.path))
    // As the inspector opens it, without a length limit, and as a cache does.
    for segmentSize in [0, 1 << 20] {
      let reader = ValueReader(place, segmentSize: segmentSize)
      guard case .damaged = try reader.read(forged) else {
        Issue.record("it was read")
        continue
      }
      guard case .damaged = try reader.withValue(forged, { $0.count }) else {
        Issue.record("it was lent")
        continue
      }
      guard case .value = try reader.read(pointer) else {
        Issue.record("what is there was not read")
        continue
      }
    }
    value.end()
    log.close()
  }

  // MARK: Devices

  /// The system reports a failed write once, and treats the bytes as written from then on.
  @Test func whatCouldNotBeSynchronizedIsWrittenAgain() throws {
    let log = try values.log()
    // Makes the names of the folder and the segment durable.
    try values.append(0, to: log).end()
    try log.synchronize()
    let first = try values.append(1, to: log)
    fail(.init(.fsync, returns: EIO, count: 1)) { #expect(throws: SystemError.self) { try log.synchronize() } }
    let second = try values.append(2, to: log)
    #expect(second.pointer.segment != first.pointer.segment)
    fail(.init(.pwrite, returns: EIO, count: 1)) { #expect(throws: SystemError.self) { try log.synchronize() } }
    try log.synchronize()
    let third = try values.append(3, to: log)
    try fail(.init(.pwrite, returns: EIO, count: 1)) { try log.synchronize() }
    let reader = ValueReader(CurrentDirectory(try Directory(path: directory.path)), segmentSize: 1 << 20)
    for value in [first, second, third] {
      #expect(try reader.isIntact(value.pointer))
      value.end()
    }
    log.close()
  }

  /// A bad block loses the value in it, not the cache, although every commit retries a dead process's journal.
  @Test func aValueThatCannotBeReadStopsNoCommit() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=86400000") == "ok")
    #expect(child.run("big large 1000000") == "ok")
    #expect(child.run("set small v") == "ok")
    try fail(.init(.pread, returns: EIO, count: .max)) {
      child.kill()
      #expect(eventually { (try? cache.value(String.self, forKey: "small")) == "v" })
      #expect(try cache.value(Data.self, forKey: "large") == nil)
      try cache.set("mine", forKey: "key")
      try cache.flush()
    }
    try cache.close()
    let again = try directory.open()
    #expect(try again.value(String.self, forKey: "key") == "mine")
    try again.close()
  }

  private func fail(_ rule: FaultInjection.Rule, _ body: () throws -> Void) rethrows {
    let session = FaultInjection.begin(.directory(directory.path + "/values"), [rule])
    defer { FaultInjection.end(session) }
    try body()
  }
}
