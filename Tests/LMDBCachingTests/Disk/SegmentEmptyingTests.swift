import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Processes that die while they move values out of sparse segments: nothing refers to what is not there, and nothing
/// stays that nobody refers to.
@Suite struct SegmentEmptyingTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  /// Where a process dies, by what it would do next.
  enum Moment: CaseIterable, Sendable {
    /// Values are copied, and may be on no disk.
    case synchronizing
    /// They are on the disk, and no committed record refers to the copies.
    case committing
    /// All records refer to the copies, and the emptied segment is still there.
    case removing

    /// Calls `body` at each such moment.
    func whenever(_ store: DiskStore, _ body: @escaping @Sendable () -> Void) throws {
      try store.onWriterThread {
        let database = store.database
        switch self {
        case .synchronizing:
          let next = database.synchronizeValues
          database.synchronizeValues = { () throws(CacheError) in
            body()
            try next()
          }
        case .committing:
          let next = database.willCommit
          database.willCommit = {
            next()
            body()
          }
        case .removing:
          let next = database.areFilesInPlace
          database.areFilesInPlace = { () throws(CacheError) in
            body()
            return try next()
          }
        }
        return .success(())
      }
    }
  }

  @Test(arguments: Moment.allCases, Durability.allCases)
  func aProcessThatDiesInBetweenLeavesNothing(_ moment: Moment, _ durability: Durability) throws {
    let cache = try values.open { $0.durability = durability }
    try values.fill(cache, 0..<100)
    try cache.flush()
    let kept = stride(from: 0, to: 100, by: 5)
    for number in 0..<100 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    let before = Set(directory.segments)

    let copies = Mutex<[CacheDirectory]>([])
    try moment.whenever(cache.store) { [directory] in
      copies.withLock { if $0.count < 6 { $0.append(directory.copy()) } }
    }
    try cache.diskCache.sweepValues()
    try values.expect(cache, kept)
    try cache.close()

    let found = copies.withLock(\.self)
    #expect(!found.isEmpty)
    // At least one of them has copies beside what was copied.
    #expect(found.contains { Set($0.segments) != before || moment == .removing })
    for (index, copy) in found.enumerated() {
      let reopened = try values.open(copy) { $0.durability = durability }
      #expect(reopened.recovery == nil)
      try values.expect(reopened, kept)
      #expect(try reopened.value(Data.self, forKey: "key1") == nil)
      try reopened.diskCache.sweepValues()
      #expect(try reopened.diskCache.valueLogFaults() == [], "copy \(index)")
      try values.expect(reopened, kept)
      let usage = try reopened.store.database.valueUsage()
      let size = try ValueFolder(cache: reopened.store.place.directory).segments().reduce(0) { $0 + $1.size }
      #expect(size < 2 * usage.bytes + (128 << 10), "copy \(index): \(size) bytes for \(usage.bytes)")
      try reopened.removeAll()
      try reopened.flush()
      try reopened.diskCache.sweepValues()
      #expect(copy.segments.isEmpty, "copy \(index)")
      try reopened.close()
    }
  }

  /// The same with a commit that fails: it is tried again by a later round, and the copies made for it are given back.
  @Test func aMoveThatCannotBeCommittedIsMadeAgain() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<100)
    try cache.flush()
    let kept = stride(from: 0, to: 100, by: 5)
    for number in 0..<100 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    for first in 1...3 {
      let session = FaultInjection.begin(.directory(directory.path), [.init(.txnCommit, returns: ENOSPC, first: first)])
      _ = errorCode { try cache.diskCache.sweepValues() }
      #expect(FaultInjection.end(session).triggered == 1)
      try values.expect(cache, kept)
    }
    try cache.diskCache.sweepValues()
    try values.expect(cache, kept)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }
}
