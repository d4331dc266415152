import Foundation
import LMDB
import Logging
import Platform

/// Verifies a cache's files before they are mapped, and quarantines files that cannot be trusted.
struct OpeningCheck {
  let cache: CacheDirectory
  let configuration: CacheConfiguration
  let processLock: ProcessLock
  /// The journal of the store that reopens, if any.
  let ownJournal: UInt64?
  let events: EventLog

  struct Result {
    /// The quarantine, if files were set aside.
    var recovery: CacheRecovery?
    /// Whether the database may be marked sound.
    var isSound = true
    /// Whether this process, alone, read or recreated the whole database.
    var wasVerified = false
  }

  private var directory: Directory { cache.directory }

  private var activity: String { "Verifying the cache in \(directory.path)" }

  /// Verifies the files if needed.
  ///
  /// - Throws: `.damagedDatabase` if the file cannot be trusted and cannot be set aside; `.corruptedRecord` if it is
  ///   not a cache of this package. Nothing was changed then.
  func run() throws(CacheError) -> Result {
    if configuration.disk.verification == .afterUncleanExit, try Self.isMarkedSound(directory, activity) {
      return Result()
    }
    // The process lock's file may have been deleted under running processes: journal owners reveal those that write.
    let isAlone = try calling(activity) { () throws(SystemError) in
      guard try processLock.tryOwn() else { return false }
      do throws(SystemError) {
        return try !JournalFolder(cache: directory).hasOwner(but: ownJournal)
      } catch {
        // A store that reopens keeps running, so it must return to the shared lock or block other openings.
        try processLock.share()
        throw error
      }
    }
    guard isAlone else {
      // The failed attempt dropped the shared lock, which shows that this process is here.
      try calling(activity) { () throws(SystemError) in try processLock.share() }
      try checkBesideOthers()
      return Result(
        isSound: try calling(activity) { () throws(SystemError) in try !CleanExitMark.isVoid(in: directory) })
    }
    let result = outcome { () throws(CacheError) in try verifyAlone() }
    try calling(activity) { () throws(SystemError) in try processLock.share() }
    return try result.get()
  }

  static func isMarkedSound(_ directory: Directory, _ activity: String) throws(CacheError) -> Bool {
    let scope = try calling(activity) { () throws(SystemError) -> CleanExitMark.Scope? in
      guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return nil }
      return try mark.holds(in: directory) ? mark.scope : nil
    }
    guard let scope else { return false }
    // A cheap check, because the mark may be forged, or the file truncated while in use.
    do throws(DataFileError) {
      let meta = try DataFileVerifier.checkMeta(directory: directory.pathForC)
      return scope == .use ? meta?.isWhole == true : meta != nil
    } catch {
      return false
    }
  }

  // MARK: As the only process

  private func verifyAlone() throws(CacheError) -> Result {
    let (finding, page): (String, UInt64?)
    switch try DatabaseExamination(directory: directory, activity: activity) {
    // Reading the cache's record refuses newer versions later.
    case .newerVersion: return Result()
    case .sound: return Result(wasVerified: true)
    case .damaged(let found):
      try checkIsOurs(found.description, found.kind)
      (finding, page) = (found.description, found.page)
    case .wrongContents(let reason):
      try checkIsOurs(reason, nil)
      (finding, page) = (reason, nil)
    }
    guard configuration.disk.recoversFromDamage else { throw Self.damaged(directory, finding) }
    let recovery = try calling("Setting the damaged files of \(directory.path) aside") { () throws(SystemError) in
      try Quarantine(directory: directory, date: configuration.clock.now).recover(finding, page)
    }
    events.log(
      .error, "cache was damaged: its files were set aside, and it was made anew",
      [
        "directory": "\(directory.path)", "finding": "\(finding)", "page": "\(page.map(String.init) ?? "-")",
        "quarantine": "\(recovery.quarantine.path)",
      ])
    return Result(recovery: recovery, wasVerified: true)
  }

  static func damaged(_ directory: Directory, _ finding: String, underlying: DataFileFinding? = nil) -> CacheError {
    CacheError(
      .damagedDatabase,
      "\(directory.path(of: CacheDirectory.dataName)) is damaged: \(finding). Nothing was changed. Put a copy in its place, "
        + "or have it set aside and made anew: a program that opens it with disk.recoversFromDamage, the default, does so.",
      underlying: underlying)
  }

  /// Throws if this package did not write the file, or a newer version did.
  private func checkIsOurs(_ finding: String, _ kind: DataFileFinding.Kind?) throws(CacheError) {
    let reading = try calling(activity) { () throws(SystemError) in try CleanExitMark.read(in: directory) }
    if case .newerVersion = reading {
      throw CacheError(
        .unsupportedVersion,
        "\(directory.path) was written by a newer version of this package. Update, or give another directory; nothing was "
          + "changed.")
    }
    if case .mark(let mark) = reading, mark.durability != configuration.durability {
      throw StoreOpening.durabilityMismatch(directory, mark.durability, configuration.durability)
    }
    // Without a clean-exit mark, a session mark shows the durability.
    if case .mark = reading {
    } else if configuration.durability != .fast {
      let isFast = try calling(activity) { () throws(SystemError) in try directory.kind(of: FastSession.name) != nil }
      if isFast { throw StoreOpening.durabilityMismatch(directory, .fast, configuration.durability) }
    }
    // ``CacheDirectory/requireCache()`` has established that the directory is a cache.
    if kind == .version { throw CacheDirectory.notACache(directory, finding) }
  }

  // MARK: Beside others

  /// Other processes have verified the file and write to it, so only check that no page in use lies past its end.
  private func checkBesideOthers() throws(CacheError) {
    do throws(DataFileError) {
      try DataFileVerifier.verifyBesideWriters(directory: directory.pathForC)
    } catch {
      switch error {
      case .unreadable(let error): throw CacheError(error, during: activity)
      case .finding(let finding):
        throw CacheError(
          .damagedDatabase,
          "\(directory.path(of: CacheDirectory.dataName)) is damaged, and other processes have it open: \(finding). "
            + "Close it everywhere: who opens it next sets it aside and makes a new one. Nothing was changed.",
          underlying: finding)
      }
    }
  }
}

/// The result of reading a cache's whole database.
enum DatabaseExamination {
  /// The file is `nil` if no database exists yet.
  case sound(VerifiedDataFile?, CacheContents)
  /// Written by a newer version of this package, which this one cannot judge.
  case newerVersion
  case damaged(DataFileFinding)
  /// The structure is sound, but the entries do not match the cache's record.
  case wrongContents(String)

  /// Reads the file. No process may write to it during the call.
  init(directory: Directory, activity: String) throws(CacheError) {
    do throws(DataFileError) {
      let contents = CacheContents()
      let file = try unsafe DataFileVerifier.verify(directory: directory.pathForC, visit: contents.note)
      switch contents.judgement {
      case .sound: self = .sound(file, contents)
      case .other: self = .newerVersion
      case .damaged(let reason):
        // A single damaged record affects only its own entry, and reading it reports the damage.
        let closely = CacheContents(checksRecords: true)
        _ = try unsafe DataFileVerifier.verify(directory: directory.pathForC, visit: closely.note)
        self =
          closely.hasMetadata && closely.damagedRecords > 0
          ? .sound(file, closely) : .wrongContents(reason)
      }
    } catch {
      switch error {
      case .finding(let finding): self = .damaged(finding)
      case .unreadable(let error): throw CacheError(error, during: activity)
      }
    }
  }
}

/// Moves a cache's untrusted files out of the way. The caller must be the only process in the directory.
///
/// Journals stay: their writes were acknowledged, carry checksums, and are applied with their values to the new cache.
struct Quarantine {
  private static let prefix = "quarantine-"
  private static let report = "finding.txt"

  let directory: Directory
  /// Nanoseconds since 1970.
  let date: Int64

  /// The number in a quarantine's name, or `nil` for another name.
  static func number(ofName name: String) -> Int? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(digits)
  }

  func recover(_ finding: String, _ page: UInt64?) throws(SystemError) -> CacheRecovery {
    let earlier = try directory.names().compactMap(Self.number)
    var number = Int(max(0, date / 1_000_000))
    while earlier.contains(number) { number += 1 }
    let name = Self.prefix + String(number)
    let folder = try directory.makeSubdirectory(name)
    try folder.create(Self.report, .exclusively).write(Array((finding + "\n").utf8))
    // If interrupted, the next opening finds nothing, the same damage, or unreferenced segments, which it removes.
    try ValueFolder(cache: directory).move(to: folder, except: try journaledSegments())
    try directory.rename(CacheDirectory.dataName, to: folder, as: CacheDirectory.dataName)
    try directory.remove(CacheDirectory.lockName)
    try CleanExitMark.makeVoid(in: directory)
    try directory.synchronize()
    // Keep only the newest: each takes as much space as the cache did.
    for number in earlier { try remove(Self.prefix + String(number)) }
    return CacheRecovery(
      finding: finding, page: page,
      quarantine: URL(fileURLWithPath: directory.path(of: name), isDirectory: true),
      date: Date(timeIntervalSince1970: Double(date) / 1e9))
  }

  /// Removes a quarantine's own files. Foreign files stay, and the folder with them.
  private func remove(_ name: String) throws(SystemError) {
    guard try directory.kind(of: name) == .directory, let folder = try directory.subdirectory(name),
      try folder.kind(of: Self.report) == .regular
    else { return }
    try ValueFolder(cache: folder).removeAll()
    for file in [CacheDirectory.dataName, CacheDirectory.lockName] where try folder.kind(of: file) == .regular {
      try folder.remove(file)
    }
    let rest = try folder.names().filter { $0 != Self.report && $0 != ValueFolder.name }
    let hasValues = try folder.subdirectory(ValueFolder.name).map { (values) throws(SystemError) in
      try !values.isEmpty()
    }
    if rest.isEmpty && hasValues != true { try directory.removeTree(name) }
  }

  /// The segments that journaled writes refer to.
  private func journaledSegments() throws(SystemError) -> Set<UInt64> {
    var segments: Set<UInt64> = []
    let folder = JournalFolder(cache: directory)
    for identifier in try folder.identifiers() {
      guard let journal = try folder.orphan(identifier) else { continue }
      segments.formUnion(journal.image.frames.compactMap { $0.pointer?.segment })
    }
    return segments
  }
}
