import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// After a kill, the next opening within the same run of the system skips verification. The trial `power-loss` covers
/// power cuts at any moment.
@Suite struct UncleanExitTests {
  let directory = CacheDirectory()

  /// Leaves the files of a process that was killed after a flush.
  private func leave(boot: Int?) throws {
    var lines = boot.map { ["boot \($0)"] } ?? []
    lines += ["open \(directory.path)"] + (0..<100).map { "set key\($0) v" } + ["flush", "die"]
    let outcome = try BoundedProcess.run("CacheTestProcess", input: lines)
    #expect(outcome.answers == [String](repeating: "ok", count: lines.count - 1))
  }

  enum Circumstance: CaseIterable { case sameRun, always, otherRun, copy, cutOff }

  /// A miscount is found only where everything is read.
  @Test(arguments: Circumstance.allCases)
  func everythingIsReadWhereSomethingMayBeLost(_ circumstance: Circumstance) throws {
    try leave(boot: circumstance == .otherRun ? 7 : nil)
    #expect(try directory.isMarkedSound() == (circumstance != .otherRun))
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
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
    // Commits, idle time and close must not mark the file as sound.
    clock.advance(by: .seconds(2))
    try cache.store.writer.run {}
    #expect(try !directory.isMarkedSound())
    try cache.close()
    #expect(try !directory.isMarkedSound())
    let next = try directory.open()
    #expect(next.recovery == nil)
    #expect(try next.value(String.self, forKey: "key") == "w")
    try next.close()
    #expect(try directory.isMarkedSound())
  }
}
