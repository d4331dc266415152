import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// After a kill, the next opening within the same run of the system skips verification.
@Suite struct UncleanExitTests {
  let directory = CacheDirectory()

  /// Leaves the files of a process that was killed, after these steps or a flush.
  private func leave(boot: Int? = nil, _ steps: [String] = ["flush"]) throws {
    var lines = boot.map { ["boot \($0)"] } ?? []
    lines += ["open \(directory.path)"] + (0..<100).map { "set key\($0) v" } + steps + ["die"]
    let outcome = try BoundedProcess.run("CacheTestProcess", input: lines)
    #expect(outcome.answers == [String](repeating: "ok", count: lines.count - 1))
  }

  @Test(arguments: [["flush"], [], ["flush", "set late v"]]) func aKilledProcessLeavesASoundDatabase(
    _ steps: [String]
  ) throws {
    try leave(steps)
    #expect(try directory.isMarkedSound())
    let cache = try directory.open()
    #expect(cache.recovery == nil)
    for index in 0..<100 { #expect(try cache.value(String.self, forKey: "key\(index)") == "v") }
    try cache.close()
    _ = try CacheInspection.verify(directory: directory.url)
  }

  enum Circumstance: CaseIterable { case sameRun, always, otherRun, copy, cutOff }

  /// A miscount is found only where everything is read.
  @Test(arguments: Circumstance.allCases)
  func everythingIsReadWhereSomethingMayBeLost(_ circumstance: Circumstance) throws {
    try leave(boot: circumstance == .otherRun ? 7 : nil)
    if circumstance == .cutOff {
      #expect(truncate(directory.path + "/data.mdb", 8192) == 0)
    } else {
      directory.miscount()
    }
    let place = circumstance == .copy ? directory.copy() : directory
    let cache = try place.open { if circumstance == .always { $0.disk.verification = .always } }
    #expect((cache.recovery != nil) == (circumstance != .sameRun))
    if circumstance == .sameRun { #expect(try cache.value(String.self, forKey: "key7") == "v") }
    try cache.close()
  }

  /// After a device error, the page cache may differ from the disk.
  @Test func aDeviceThatFailedMakesTheNextOpeningRead() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("v", forKey: "key")
    try cache.flush()
    #expect(try directory.isMarkedSound())
    let session = FaultInjection.begin(
      .directory(directory.path), [.init(.txnCommit, returns: EIO, count: .max)])
    try cache.set("w", forKey: "key")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    FaultInjection.end(session)
    #expect(try !directory.isMarkedSound())
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
    // Commits, idle time and close must not mark the file as sound.
    for _ in 0..<3 {
      clock.advance(by: .seconds(2))
      try cache.store.writer.run {}
    }
    #expect(try !directory.isMarkedSound())
    try cache.close()
    #expect(try !directory.isMarkedSound())
    let next = try directory.open()
    #expect(next.recovery == nil)
    #expect(try next.value(String.self, forKey: "key") == "w")
    try next.close()
    #expect(try directory.isMarkedSound())
  }

  /// Detected damage must stay recorded even if another process marks the file as sound.
  @Test func aVoidMarkStaysUntilTheFileIsVerified() throws {
    try directory.open().close()
    let place = try Directory(path: directory.path)
    func write(wasVerified: Bool) throws -> Bool {
      try CleanExitMark.write(in: place, durability: .ordered, .use, wasVerified: wasVerified)
    }
    #expect(try write(wasVerified: false))
    do {
      // Holds the lock of a process that is writing the mark.
      let lock = FileLock(try place.create("clean-exit"))
      #expect(try lock.tryLock(.exclusive))
      #expect(try !write(wasVerified: false))
      try CleanExitMark.makeVoid(in: place)
    }
    #expect(try CleanExitMark.isVoid(in: place))
    #expect(try !write(wasVerified: false))
    #expect(try CleanExitMark.isVoid(in: place))
    #expect(try write(wasVerified: true))
    #expect(try !CleanExitMark.isVoid(in: place))
    // Without a mark the file is not known to be sound, and no process may claim so.
    try place.remove("clean-exit")
    try CleanExitMark.makeVoid(in: place)
    #expect(try place.identity(of: "clean-exit") == nil)
    try CleanExitMark.makeVoid(in: place, durability: .ordered)
    #expect(try !write(wasVerified: false))
  }
}
