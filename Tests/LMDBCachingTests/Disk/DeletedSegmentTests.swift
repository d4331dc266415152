import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// Segments deleted before their values are committed. A failed repair is retried later.
@Suite struct DeletedSegmentTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  /// Makes the next commit fail.
  private func fail(_ rule: FaultInjection.Rule, _ cache: LMDBCache) {
    let session = FaultInjection.begin(.directory(directory.path + "/" + ValueFolder.name), [rule])
    #expect(errorCode { try cache.flush() } == .notCommitted)
    #expect(FaultInjection.end(session).triggered == 1)
  }

  /// Makes the retry succeed.
  private func recover(_ cache: LMDBCache) {
    values.clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
  }

  @Test(arguments: [
    FaultInjection.Rule(.mkdirat, returns: ENOSPC), .init(.flock, returns: EIO), .init(.pwrite, returns: ENOSPC),
    // The first call synchronizes the values before the commit.
    .init(.fsync, returns: EIO, first: 2),
  ])
  func aSegmentThatCannotBePutBackIsKept(_ rule: FaultInjection.Rule) throws {
    let cache = try values.open { neverCommitting(&$0) }
    try values.fill(cache, 0..<5)
    try FileManager.default.removeItem(at: directory.url(ValueFolder.name))
    fail(rule, cache)
    recover(cache)
    try values.expect(cache, 0..<5)
    try values.expectCountsAreRight(cache)
    try values.fill(cache, 5..<10)
    try cache.close()
    let reopened = try values.open()
    try values.expect(reopened, 0..<10)
    try reopened.close()
  }

  /// After a crash, the segment must name the journal that refers to its values.
  @Test func aNewJournalIsWrittenDownInTheEnd() throws {
    let cache = try values.open { neverCommitting(&$0) }
    let store = cache.store
    try values.fill(cache, 0..<3)
    for journal in directory.journals { try FileManager.default.removeItem(at: directory.url(journal)) }
    fail(.init(.pwrite, returns: EIO), cache)
    // Without a commit, which would release the segment.
    try store.onWriterThread { outcome { () throws(CacheError) in try store.place.bringFilesIntoPlace() } }
    let folder = ValueFolder(cache: store.place.directory)
    let identifier = try #require(try folder.segments().first).identifier
    guard let file = try folder.open(identifier) else {
      Issue.record("The segment is gone.")
      return
    }
    let owner = try ValueSegment.owner(file, identifier: identifier)
    #expect(owner != nil && owner == store.journal.identifier)
    recover(cache)
    try values.expect(cache, 0..<3)
    try cache.close()
  }
}
