import Foundation
import LMDB
import Logging
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// The cache that an operation of the table is tried on, in a separate directory.
final class FaultSubject {
  /// The state in which the operation finds the cache.
  enum Stage: CaseIterable {
    /// Closed, with every entry committed.
    case closed
    /// The process died with writes in its journal.
    case crashed
    /// Just opened: no journal, no reader slot, nothing in memory.
    case cold
    /// With uncommitted writes.
    case warm
    /// The same while another process has the cache open, so that conditional writes are transactions.
    case shared

    var hasPending: Bool { self != .closed && self != .cold }
  }

  struct Setting: CustomStringConvertible {
    let stage: Stage
    let durability: Durability
    let hasMemory: Bool

    var description: String { "\(stage), .\(durability), memory \(hasMemory ? "on" : "off")" }

    static let all = Stage.allCases.flatMap { stage in
      Durability.allCases.flatMap { durability in
        [true, false].map { Setting(stage: stage, durability: durability, hasMemory: $0) }
      }
    }
  }

  static let start = Date(timeIntervalSince1970: 1_700_000_000)

  private let root: CacheDirectory
  let clock = ManualClock(date: start)
  private let setting: Setting
  private(set) var cache: LMDBCache?
  /// The lock of the other process.
  private var company: ProcessLock?

  var place: URL { root.url("cache") }
  var backup: URL { root.url("backup") }

  /// The contents of the cache.
  var contents: Contents { setting.stage.hasPending ? Self.pending : Self.committed }

  init(_ setting: Setting, in root: CacheDirectory) throws {
    self.setting = setting
    self.root = root
    let template = try #require(Self.templates[setting.durability])
    try Self.copy(setting.stage == .crashed ? template.crashed : template.closed, to: place)
    if [.closed, .crashed].contains(setting.stage) { return }
    let cache = try open()
    if setting.stage.hasPending { try Self.writePending(cache) }
    if setting.stage == .shared {
      let directory = try Directory(path: place.path)
      company = try ProcessLock(directory, timeout: 1_000_000_000)
      try JournalFolder(cache: directory).revokeExclusiveUse()
    }
  }

  /// The cache, opened if it is not.
  @discardableResult
  func open() throws -> LMDBCache {
    if let cache { return cache }
    let cache = try LMDBCache(directory: place, configuration: Self.configuration(setting, clock))
    self.cache = cache
    return cache
  }

  func endCompany() { company = nil }

  /// Closes and releases the cache. Expects the end of its thread.
  func close(_ note: Comment, mayFail: Bool) {
    weak let writer = cache?.store.writer
    let code = errorCode { try cache?.close() }
    cache = nil
    #expect(code == nil || mayFail && code == .notCommitted, note)
    #expect(eventually { writer == nil }, note)
  }

  /// Makes the writer thread's round, without waiting a second for it.
  func makeRound(after duration: Duration) throws {
    clock.advance(by: duration)
    try cache?.store.writer.run {}
  }

  /// Whether the cache commits everything once the pauses between its attempts are over.
  func recovers() throws -> Bool {
    guard let cache else { return true }
    for _ in 0..<10 {
      try makeRound(after: .seconds(40))
      if errorCode({ try cache.flush() }) == nil && cache.health.isHealthy { return true }
    }
    return false
  }

  // MARK: Contents

  private static let mayExpire: Set = ["expiring", "long"]
  private static let keys = Set(committed.keys).union(pending.keys).union(["missing", "new"])

  /// The value and the expiry under each key, as a reader of single keys finds them.
  static func visible(_ cache: LMDBCache) throws -> Contents {
    var found: Contents = [:]
    for key in keys {
      guard let text = try text(key, cache) else { continue }
      let expiration = try mayExpire.contains(key) ? seconds(cache.entry(forKey: key)?.expiration) : nil
      found[key] = ContentEntry(text, until: expiration)
    }
    return found
  }

  static func seconds(_ date: Date?) -> Int? { date.map { Int($0.timeIntervalSince(start).rounded()) } }

  private static func text(_ key: String, _ cache: LMDBCache) throws -> String? {
    switch key {
    case "number": try cache.value(Int.self, forKey: key).map(String.init)
    case "object": try (cache.object(forKey: key) as? NSString).map { "\($0)" }
    default: try cache.value(String.self, forKey: key)
    }
  }

  /// The contents that another process would find after a crash of this one.
  func contentsAfterDeath() throws -> Contents {
    let (place, copy) = (place, root.url("crashed"))
    // Between two commits.
    try cache?.store.writer.run { try Self.copy(place, to: copy) }
    defer { try? FileManager.default.removeItem(at: copy) }
    let cache = try LMDBCache(directory: copy, configuration: Self.configuration(setting, clock).withoutMemory)
    let found = try Self.visible(cache)
    try cache.close()
    return found
  }

  /// The contents of the backup, which is removed; `nil` without one.
  func takeBackup() throws -> Contents? {
    guard root.names().contains("backup") else { return nil }
    let copy = try LMDBCache(directory: backup, configuration: Self.configuration(setting, clock).withoutMemory)
    let found = try Self.visible(copy)
    try copy.close()
    try FileManager.default.removeItem(at: backup)
    return found
  }

  // MARK: Templates

  /// Faults are many: no disk is waited for.
  static let parent =
    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path

  private static func configuration(_ setting: Setting, _ clock: ManualClock) -> CacheConfiguration {
    CacheDirectory.configuration {
      neverCommitting(&$0)
      $0.durability = setting.durability
      $0.clock = .manual(clock)
      $0.disk.journalSize = 128 << 10
      $0.disk.valueSegmentSize = 64 << 10
      $0.disk.lockTimeout = .milliseconds(50)
      if !setting.hasMemory { $0.memory = .off }
    }
  }

  private typealias Template = (closed: URL, crashed: URL, directory: CacheDirectory)

  private static let templates: [Durability: Template] = {
    var templates: [Durability: Template] = [:]
    for durability in Durability.allCases {
      let directory = CacheDirectory(parent: parent)
      let (closed, crashed, live) = (directory.url("closed"), directory.url("crashed"), directory.url("live"))
      let configuration = configuration(
        Setting(stage: .closed, durability: durability, hasMemory: false), ManualClock(date: start))
      var cache = try! LMDBCache(directory: closed, configuration: configuration)
      try! writeCommitted(cache)
      try! cache.close()
      try! copy(closed, to: live)
      cache = try! LMDBCache(directory: live, configuration: configuration)
      try! writePending(cache)
      try! copy(live, to: crashed)
      try! cache.close()
      templates[durability] = (closed, crashed, directory)
    }
    return templates
  }()

  private static func copy(_ source: URL, to place: URL) throws {
    let files = FileManager.default
    try files.createDirectory(at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for name in try files.contentsOfDirectory(atPath: source.path) where name != "lock.mdb" {
      try files.copyItem(at: source.appendingPathComponent(name), to: place.appendingPathComponent(name))
    }
  }

  private static let long = FaultOperation.long

  private static let committed: Contents = [
    "short": ContentEntry("s"), "long": ContentEntry(long), "number": ContentEntry("1"), "object": ContentEntry("o"),
    "expiring": ContentEntry("e", until: 14_400), "tagged/1": ContentEntry("t"), "tagged/2": ContentEntry(long),
    "prefix/1": ContentEntry("p"), "prefix/2": ContentEntry(long), "replaced": ContentEntry("old"),
    "removed": ContentEntry(long),
  ]

  private static func writeCommitted(_ cache: LMDBCache) throws {
    for (key, entry) in committed where !["number", "object"].contains(key) {
      try cache.set(
        entry.text, forKey: key, expires: entry.expiration.map { .at(start + Double($0)) } ?? .never,
        tags: key.hasPrefix("tagged/") ? ["tag"] : [])
    }
    try cache.set(1, forKey: "number")
    try cache.setObject(NSString(string: "o"), forKey: "object")
    try cache.flush()
  }

  private static let pending = committed.merging([
    "waiting": ContentEntry("w"), "waiting/long": ContentEntry(long), "replaced": ContentEntry("newer"),
  ]) { $1 }.filter { $0.key != "removed" }

  private static func writePending(_ cache: LMDBCache) throws {
    for key in ["waiting", "waiting/long", "replaced"] { try cache.set(pending[key]!.text, forKey: key) }
    try cache.removeValue(forKey: "removed")
  }
}
