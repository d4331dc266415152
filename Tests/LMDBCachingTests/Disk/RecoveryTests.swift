import Foundation
import LMDB
import Logging
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct RecoveryTests {
  let directory = CacheDirectory()

  private var quarantines: [String] { directory.names().filter { $0.hasPrefix("quarantine-") } }

  private func fill(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws {
    let cache = try directory.open(change)
    for index in 0..<500 { try cache.set("value \(index)", forKey: "key \(index)") }
    try cache.close()
  }

  /// The main database's root page, and its offset.
  private static func root(_ data: Data) -> (page: UInt64, offset: Int) {
    data.withUnsafeBytes { bytes in
      let meta =
        bytes.loadUnaligned(fromByteOffset: 144, as: UInt64.self)
          < bytes.loadUnaligned(fromByteOffset: 4096 + 144, as: UInt64.self) ? 4096 : 0
      let page = bytes.loadUnaligned(fromByteOffset: meta + 128, as: UInt64.self)
      return (page, Int(page) * 4096)
    }
  }

  private static func zeroRoot(_ data: inout Data) {
    let offset = root(data).offset
    data.replaceSubrange(offset..<offset + 4096, with: Data(count: 4096))
  }

  @Test func aDamagedFileIsSetAsideAndTheCacheGoesOn() throws {
    try fill()
    directory.damage(Self.zeroRoot)
    let damaged = directory.contents("data.mdb")
    let page = Self.root(damaged).page
    let events = EventLog.Events()
    let cache = try directory.open { $0.logger = EventLog.logger(events) }
    let recovery = try #require(cache.recovery)
    #expect(recovery.page == page && recovery.finding.contains("page \(page)"))
    #expect(try Data(contentsOf: recovery.quarantine.appendingPathComponent("data.mdb")) == damaged)
    #expect(try Data(contentsOf: recovery.quarantine.appendingPathComponent("finding.txt")).count > 10)
    #expect(recovery.quarantine.deletingLastPathComponent().path == directory.path)
    #expect(cache.statistics.recoveries == 1 && cache.health.isHealthy)
    #expect(try cache.count == 0)
    try cache.set("new", forKey: "key 1")
    try cache.close()
    let again = try directory.open { $0.logger = EventLog.logger(events) }
    #expect(again.recovery == nil && again.statistics.recoveries == 0)
    #expect(try again.value(String.self, forKey: "key 1") == "new")
    try again.close()
    #expect(quarantines.count == 1)
    let event = try #require(events.current.first)
    #expect(events.current.count == 1 && event.level == .error)
    #expect(event.metadata["directory"] == "\(directory.path)")
    #expect(event.metadata["quarantine"] == "\(recovery.quarantine.path)")
    #expect(event.metadata["finding"] == "\(recovery.finding)")
    // The last one's is kept.
    directory.damage { $0.removeLast($0.count / 2) }
    let second = try directory.open()
    #expect(second.recovery?.finding.contains("truncated") == true && quarantines.count == 1)
    try second.close()
  }

  /// Why an opening of a damaged file is refused, and leaves everything as it is.
  enum Refusal: CaseIterable {
    case wantsErrors, anotherProcess, anotherWriter, foreignDatabase, anotherDurability

    var code: CacheError.Code {
      switch self {
      case .foreignDatabase: .corruptedRecord
      case .anotherDurability: .durabilityMismatch
      default: .damagedDatabase
      }
    }
  }

  private func expect(_ refusal: Refusal) throws {
    let before = directory.contents("data.mdb")
    for _ in 0..<2 {
      let code = errorCode { try directory.open { if refusal == .wantsErrors { $0.disk.recoversFromDamage = false } } }
      #expect(code == refusal.code)
      #expect(directory.contents("data.mdb") == before)
      #expect(quarantines.isEmpty)
    }
  }

  @Test(arguments: Refusal.allCases) func aRefusedOpeningChangesNothing(_ refusal: Refusal) throws {
    if refusal == .foreignDatabase {
      let foreign = Array("foreign".utf8)
      try ForgedDatabase.rewrite(directory.path, foreign) { _ in foreign }
    } else {
      try fill { if refusal == .anotherDurability { $0.durability = .full } }
    }
    directory.damage(Self.zeroRoot)
    let folder = try Directory(path: directory.path)
    switch refusal {
    case .anotherProcess:
      let lock = try ProcessLock(folder, timeout: 1_000_000_000)
      try expect(refusal)
      try lock.unlock()
    case .anotherWriter:
      // Without the lock, the other process's locked journal still reveals it.
      let journal = try JournalFolder(cache: folder).makeFile(size: 1 << 16)
      try expect(refusal)
      withExtendedLifetime(journal.identifier) {}
    default: try expect(refusal)
    }
    if refusal == .foreignDatabase { return }
    let cache = try directory.open { if refusal == .anotherDurability { $0.durability = .full } }
    #expect(cache.recovery != nil)
    try cache.close()
  }

  /// One process verifies and rebuilds the cache; the others wait, and open the result.
  @Test(arguments: [true, false]) func manyProcessesOpenAtOnce(_ isDamaged: Bool) throws {
    try fill()
    directory.damage { data in
      // Either change makes the next opening verify the file.
      if isDamaged { Self.zeroRoot(&data) } else { data.append(Data(count: 4096)) }
    }
    let processes = try (0..<6).map { _ in try cacheProcess() }
    for process in processes { process.send("open \(directory.path)") }
    for process in processes { #expect(process.readLine() == "ok") }
    for process in processes { #expect(process.run("count") == (isDamaged ? "0" : "500")) }
    #expect(quarantines.count == (isDamaged ? 1 : 0))
    for (index, process) in processes.enumerated() { #expect(process.run("write w\(index) \(index)") == "ok") }
    for process in processes {
      for index in processes.indices { #expect(process.run("get w\(index)") == "\(index)") }
      #expect(process.run("close") == "ok")
    }
  }

  @Test func acknowledgedWritesOfTheJournalSurvive() throws {
    let change: (inout CacheConfiguration) -> Void = {
      neverCommitting(&$0)
      $0.disk.inlineThreshold = 5_000
      // One segment per value.
      $0.disk.valueSegmentSize = 10_000
    }
    try fill(change)
    let cache = try directory.open(change)
    let large = Data(repeating: 7, count: 9_000)
    try cache.set(large, forKey: "committed file")
    try cache.flush()
    try cache.set("acknowledged", forKey: "key 3")
    try cache.set(large, forKey: "acknowledged file")
    try cache.removeValue(forKey: "key 4")
    let crashed = directory.crashed(cache)
    try cache.close()
    crashed.damage(Self.zeroRoot)
    let recovered = try crashed.open(change)
    let quarantine = try #require(recovered.recovery).quarantine
    #expect(try recovered.value(String.self, forKey: "key 3") == "acknowledged")
    #expect(try recovered.value(Data.self, forKey: "acknowledged file") == large)
    #expect(try recovered.count == 2)
    let moved = try FileManager.default.contentsOfDirectory(atPath: quarantine.path + "/values")
    #expect(crashed.segments.count == 1 && moved.count == 1)
    try recovered.close()
  }

  @Test func aDamagedOwnRecordIsRepairedByTheSecondOpening() throws {
    try fill()
    try ForgedDatabase.rewrite(directory.path, ForgedField.key) { old in
      var record = old!
      record[60] ^= 1
      return record
    }
    try TestingMark.write(in: directory.path)
    #expect(errorCode { try directory.open() } == .corruptedRecord)
    let again = try directory.open()
    #expect(again.recovery?.finding.contains("own record") == true)
    try again.close()
  }
}
