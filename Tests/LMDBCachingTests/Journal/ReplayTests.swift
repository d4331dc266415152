import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ReplayTests {
  let directory = CacheDirectory()

  /// A cache directory with a dead process's journal, and the journal's name.
  private func directoryWithOrphan(
    after write: (LMDBCache) throws -> Void = { _ in }
  ) throws -> (CacheDirectory, journal: String) {
    let cache = try directory.open(neverCommitting)
    try write(cache)
    try cache.set("v", forKey: "key")
    let crashed = directory.crashed(cache)
    try cache.close()
    return (crashed, crashed.journals[0])
  }

  /// What happened after the writes in a journal that is there again.
  enum Successor { case set, removal, removalOfAll }

  /// A crash between a commit and the end of its journal leaves it under its name, and commits are known by the
  /// journal's mark. After a close, or under another name, only the stamps tell the applied writes.
  @Test(arguments: [
    (Successor.set, true, false), (.removal, true, false), (.removalOfAll, true, false), (.set, false, false),
    (.set, false, true), (.removalOfAll, false, false), (.removalOfAll, false, true),
  ])
  func anOlderJournalUndoesNothing(_ successor: Successor, _ hasCrashed: Bool, _ isRenamed: Bool) throws {
    let cache = try directory.open(neverCommitting)
    for key in ["key", "other"] { try cache.set("old", forKey: key) }
    let (name, journal) = (directory.journals[0], directory.contents(directory.journals[0]))
    if hasCrashed { try cache.flush() }
    switch successor {
    case .set: try cache.set("new", forKey: "key")
    case .removal: try cache.removeValue(forKey: "key")
    case .removalOfAll: try cache.removeAll()
    }
    try cache.flush()
    let place = hasCrashed ? directory.crashed(cache) : directory
    try cache.close()
    place.write(journal, to: isRenamed ? JournalName.folder + "/ffffffffffffffff.journal" : name)
    let reopened = try place.open { $0.disk.groupCommitInterval = .zero }
    #expect(try reopened.value(String.self, forKey: "key") == (successor == .set ? "new" : nil))
    #expect(try reopened.value(String.self, forKey: "other") == (successor == .removalOfAll ? nil : "old"))
    #expect(try reopened.count == (successor == .set ? 2 : successor == .removal ? 1 : 0))
    if hasCrashed { #expect(reopened.statistics.replayedWrites == 0) }
    try reopened.close()
  }

  /// A caller may remove a dead process's writes before the cache has detected the death.
  @Test(arguments: ["key", "prefix", "batch", "condition"])
  func aRemovalIsNotUndoneByWhatADeadProcessLeft(_ what: String) throws {
    let (crashed, name) = try directoryWithOrphan()
    let contents = crashed.contents(name)
    try FileManager.default.removeItem(at: crashed.url(name))
    // A manual clock disables the periodic search for journals.
    let cache = try crashed.open {
      neverCommitting(&$0)
      $0.clock = .manual(ManualClock(now: 2_000_000_000_000_000_000))
    }
    if what == "condition" {
      try cache.set("committed", forKey: "key")
      try cache.flush()
    }
    crashed.write(contents, to: name)
    switch what {
    case "key": try cache.removeValue(forKey: "key")
    case "prefix": try cache.removeAll(.prefix("k"))
    case "batch": try cache.write { $0.removeValue(forKey: "key") }
    default: #expect(try cache.removeValue(String.self, forKey: "key") != nil)
    }
    try cache.flush()
    try cache.store.onWriterThread { .success(cache.store.peers.takeOver()) }
    #expect(!crashed.journals.contains(name))
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == nil)
    #expect(try cache.count == 0)
    try cache.close()
  }

  /// The journal outlives the deleted database it was committed to.
  @Test func whatWaitsSurvivesADatabaseThatIsDeletedAfterItsProcessDied() throws {
    let (crashed, _) = try directoryWithOrphan {
      try $0.set("committed", forKey: "a")
      try $0.flush()
    }
    for name in ["data.mdb", "clean-exit"] { try? FileManager.default.removeItem(at: crashed.url(name)) }
    let reopened = try crashed.open()
    #expect(try reopened.entries().map(\.key) == ["key"])
    try reopened.close()
  }

  @Test func segmentsThatNobodyHasAreRemoved() throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.inlineThreshold = 100
    }
    let big = Data(repeating: 7, count: 500)
    try cache.set(big, forKey: "committed")
    try cache.flush()
    try cache.set(big, forKey: "pending")
    let kept = directory.segments
    // From a process that died before its record was written.
    let dead = ValueLog(
      CurrentDirectory(try Directory(path: directory.path)), durability: .ordered, segmentSize: 1 << 20)
    try big.withBytes { big in
      try Array("nobody".utf8).withBytes { key in _ = try dead.append(big, key: key, owner: 1) }
    }
    dead.close()
    // Left by processes that died while creating them, and a user's files.
    func name(_ digit: String) -> String { ValueFolder.name + "/" + String(repeating: digit, count: 16) + ".values" }
    for (digit, bytes) in ["0": [], "1": [0, 0, 0], "2": Array("LMDBC".utf8)] as [String: [UInt8]] {
      directory.write(Data(bytes), to: name(digit))
    }
    let foreign = [ValueFolder.name + "/garbage", name("3")]
    for file in foreign { directory.write(Data([1, 2, 3]), to: file) }
    #expect(directory.segments.count == 7)
    try cache.sweepValues()
    #expect(directory.segments.sorted() == (kept + foreign).sorted())
    cache.memory.removeAll()
    #expect(try cache.value(Data.self, forKey: "pending") == big)
    #expect(try cache.value(Data.self, forKey: "committed") == big)
    try cache.close()
  }
}
