import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Processes that die while they empty sparse segments leave no dangling reference and no unreferenced file.
@Suite struct SegmentEmptyingTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  /// The step before which a process dies.
  enum Moment: CaseIterable, Sendable {
    /// Values are copied, but not synchronized.
    case synchronizing
    /// The copies are durable, but no committed record refers to them.
    case committing
    /// All records refer to the copies; the emptied segment still exists.
    case removing

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
    let copies = Guarded<[CacheDirectory]>([])
    try moment.whenever(cache.store) { [directory] in
      copies { if $0.count < 6 { $0.append(directory.copy()) } }
    }
    try cache.sweepValues()
    try values.expect(cache, kept)
    try cache.close()

    let found = copies.current
    #expect(!found.isEmpty)
    for (index, copy) in found.enumerated() {
      let reopened = try values.open(copy) { $0.durability = durability }
      #expect(reopened.recovery == nil)
      try values.expect(reopened, kept)
      #expect(try reopened.value(Data.self, forKey: "key1") == nil)
      try reopened.sweepValues()
      #expect(try reopened.valueLogFaults() == [], "copy \(index)")
      try reopened.removeAll()
      try reopened.flush()
      try reopened.sweepValues()
      #expect(copy.segments.isEmpty, "copy \(index)")
      try reopened.close()
    }
  }

  /// The failed commit is retried in a later round; its copies are released.
  @Test func aMoveThatCannotBeCommittedIsMadeAgain() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<100)
    try cache.flush()
    let kept = stride(from: 0, to: 100, by: 5)
    for number in 0..<100 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    for first in 1...3 {
      let session = FaultInjection.begin(.directory(directory.path), [.init(.txnCommit, returns: ENOSPC, first: first)])
      _ = errorCode { try cache.sweepValues() }
      #expect(FaultInjection.end(session).triggered == 1)
      try values.expect(cache, kept)
    }
    try cache.sweepValues()
    try values.expect(cache, kept)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }
}
