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
    /// Recomputed counts, if those in the cache's records are wrong.
    var corrected: CacheContents.Corrected?
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
    if configuration.disk.verification == .afterUncleanExit, try isMarkedSound() { return Result() }
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

  private func isMarkedSound() throws(CacheError) -> Bool {
    let scope = try calling(activity) { () throws(SystemError) -> CleanExitMark.Scope? in
      guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return nil }
      return try mark.holds(in: directory) ? mark.scope : nil
    }
    guard let scope else { return false }
    // A cheap check, because the mark may be forged, or the file truncated while in use.
    do throws(DataFileError) {
      let meta = try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC)
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
    case .sound(_, let contents): return Result(corrected: contents.corrected, wasVerified: true)
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

  static func damaged(
    _ directory: Directory, _ finding: String, underlying: DataFileFinding? = nil
  ) -> CacheError {
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
      // Free pages at the end may be missing from the file. Only a full read shows whether they are free, and it counts
      // only if no process committed during it.
      for _ in 0..<8 {
        guard let before = try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC), !before.isWhole
        else {
          return
        }
        let result = outcome { () throws(DataFileError) in try DataFileVerifier.verify(directory: directory.pathForC) }
        guard let after = try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC) else { return }
        if after.transactionID == before.transactionID {
          _ = try result.get()
          return
        }
      }
      // Other processes commit constantly, which requires a readable file.
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
