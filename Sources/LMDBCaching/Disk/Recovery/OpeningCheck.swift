import Foundation
import LMDB
import Logging

/// What happens to a cache's files before they are mapped: they are verified if need be, and set aside if they cannot be
/// trusted.
struct OpeningCheck {
  let directory: String
  let configuration: CacheConfiguration
  let processLock: ProcessLock

  private var activity: String { "Verifying the cache in \(directory)" }

  /// Returns what had to be set aside; nil: nothing.
  ///
  /// - Throws: `.damagedDatabase` if the file cannot be trusted and other processes have it open; `.corruptedRecord`
  ///   if it is no cache of this package. Nothing was changed then.
  func run() throws(CacheError) -> CacheRecovery? {
    let isTrusted = try calling(activity) { () throws(SystemError) in try isMarkedSound() }
    if isTrusted && configuration.disk.verification == .afterUncleanExit { return nil }
    guard try calling(activity, { () throws(SystemError) in try processLock.tryOwn() }) else {
      // Trying has given up the lock that says that this process is here.
      try calling(activity) { () throws(SystemError) in try processLock.share() }
      try checkBesideOthers()
      return nil
    }
    let recovery = outcome { () throws(CacheError) in try verifyAlone() }
    try calling(activity) { () throws(SystemError) in try processLock.share() }
    return try recovery.get()
  }

  private func isMarkedSound() throws(SystemError) -> Bool {
    guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return false }
    return try mark.holds(in: directory)
  }

  // MARK: As the only process

  private func verifyAlone() throws(CacheError) -> CacheRecovery? {
    let (finding, page): (String, UInt64?)
    switch try DatabaseExamination(directory: directory, activity: activity) {
    // What a newer version made is refused when its own record is read.
    case .sound, .newerVersion: return nil
    case .damaged(let found):
      try checkIsOurs(found.description, found.kind)
      (finding, page) = (found.description, found.page)
    case .wrongContents(let reason):
      try checkIsOurs(reason, nil)
      (finding, page) = (reason, nil)
    }
    let recovery = try calling("Setting the damaged files of \(directory) aside") { () throws(SystemError) in
      try Quarantine(directory: directory, date: configuration.clock.now).recover(finding, page)
    }
    configuration.logger.error(
      "cache was damaged: its files were set aside, and it was made anew",
      metadata: [
        "directory": "\(directory)", "finding": "\(finding)", "page": "\(page.map(String.init) ?? "-")",
        "quarantine": "\(recovery.quarantine.path)",
      ])
    return recovery
  }

  /// Throws for what this package did not make, or a newer version of it did.
  private func checkIsOurs(_ finding: String, _ kind: DataFileFinding.Kind?) throws(CacheError) {
    let reading = try calling(activity) { () throws(SystemError) in try CleanExitMark.read(in: directory) }
    if case .newerVersion = reading {
      throw CacheError(
        .unsupportedVersion,
        "\(directory) was written by a newer version of this package. Update, or give another directory; nothing was "
          + "changed.")
    }
    if case .mark(let mark) = reading, mark.durability != configuration.durability {
      throw DiskStore.durabilityMismatch(directory, mark.durability, configuration.durability)
    }
    // Nobody else has such files beside a database.
    let isOurs = [CleanExitMark.name, JournalFile.folder, ValueFiles.folder, FastSession.name].contains {
      Directory.exists(directory + "/" + $0)
    }
    if isOurs && kind != .version { return }
    throw CacheError(
      .corruptedRecord,
      "\(directory)/data.mdb is not a database of this package, or it is damaged: \(finding). Give another directory, or "
        + "remove this one; nothing was changed.")
  }

  // MARK: Beside others

  /// Others have verified the file, and write to it: no page that is in use may be past its end.
  private func checkBesideOthers() throws(CacheError) {
    do throws(DataFileError) {
      // Free pages at the end need not be in the file; whether it is those takes reading all. That counts if nobody
      // has committed meanwhile.
      for _ in 0..<8 {
        guard let before = try DataFileVerifier.checkMetaBesideWriters(directory: directory), !before.isWhole else {
          return
        }
        let result = outcome { () throws(DataFileError) in try DataFileVerifier.verify(directory: directory) }
        guard let after = try DataFileVerifier.checkMetaBesideWriters(directory: directory) else { return }
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
          "\(directory)/data.mdb is damaged, and other processes have it open: \(finding). Close it everywhere: who "
            + "opens it next sets it aside and makes a new one. Nothing was changed.", underlying: finding)
      }
    }
  }
}
