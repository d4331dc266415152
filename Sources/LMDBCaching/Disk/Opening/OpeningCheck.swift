import Foundation
import LMDB
import Logging
import Platform

/// What happens to a cache's files before they are mapped: they are verified if need be, and set aside if they cannot be
/// trusted.
struct OpeningCheck {
  let cache: CacheDirectory
  let configuration: CacheConfiguration
  let processLock: ProcessLock
  /// The journal of the store that goes over to these files, if one does.
  let ownJournal: UInt64?
  let events: EventLog

  /// What the check found to do.
  struct Result {
    /// What had to be set aside.
    var recovery: CacheRecovery?
    /// Counts that are those of the entries, where the cache's own records have others.
    var corrected: CacheContents.Corrected?
    /// Whether the database may be marked as sound.
    var isSound = true
    /// Whether all of it was read, or it is made anew, while nobody else was here.
    var wasVerified = false
  }

  private var directory: Directory { cache.directory }

  private var activity: String { "Verifying the cache in \(directory.path)" }

  /// Verifies the files if need be.
  ///
  /// - Throws: `.damagedDatabase` if the file cannot be trusted, and other processes have it open or it is not to be set
  ///   aside; `.corruptedRecord` if it is no cache of this package. Nothing was changed then.
  func run() throws(CacheError) -> Result {
    if configuration.disk.verification == .afterUncleanExit, try isMarkedSound() { return Result() }
    // Somebody may have deleted the lock of processes that are here: their journals tell of those that write.
    let isAlone = try calling(activity) { () throws(SystemError) in
      guard try processLock.tryOwn() else { return false }
      do throws(SystemError) {
        return try !JournalFolder(cache: directory).hasOwner(but: ownJournal)
      } catch {
        // A store that opens its files again keeps the lock, and goes on: others could not open the cache.
        try processLock.share()
        throw error
      }
    }
    guard isAlone else {
      // Trying has given up the lock that says that this process is here.
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
    // As cheap as it is: the mark may be forged, and while the cache is in use somebody may have cut the file off since.
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
    // What a newer version made is refused when its own record is read.
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

  /// The error of who leaves a damaged database as it is.
  static func damaged(
    _ directory: Directory, _ finding: String, underlying: DataFileFinding? = nil
  ) -> CacheError {
    CacheError(
      .damagedDatabase,
      "\(directory.path(of: CacheDirectory.dataName)) is damaged: \(finding). Nothing was changed. Put a copy in its place, "
        + "or have it set aside and made anew: a program that opens it with disk.recoversFromDamage, the default, does so.",
      underlying: underlying)
  }

  /// Throws for what this package did not make, or a newer version of it did.
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
    // The mark of a session says the same where there is no other.
    if case .mark = reading {
    } else if configuration.durability != .fast {
      let isFast = try calling(activity) { () throws(SystemError) in try directory.kind(of: FastSession.name) != nil }
      if isFast { throw StoreOpening.durabilityMismatch(directory, .fast, configuration.durability) }
    }
    // That the directory is a cache was found before: see ``CacheDirectory/requireCache()``.
    if kind == .version { throw CacheDirectory.notACache(directory, finding) }
  }

  // MARK: Beside others

  /// Others have verified the file, and write to it: no page that is in use may be past its end.
  private func checkBesideOthers() throws(CacheError) {
    do throws(DataFileError) {
      // Free pages at the end need not be in the file; whether it is those takes reading all. That counts if nobody
      // has committed meanwhile.
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
      // Somebody writes all the time, which takes a file that can be read.
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
