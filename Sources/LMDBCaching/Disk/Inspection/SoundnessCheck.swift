import LMDB
import Platform

/// Checks, read-only, whether a cache's database can be trusted.
struct SoundnessCheck {
  let directory: Directory
  let activity: String

  /// Attempts to read a whole file while others write to it.
  private static let attempts = 4

  enum Outcome {
    case examined(DatabaseExamination)
    /// Others commit too fast to read the file.
    case restless
  }

  /// Throws if the database cannot be trusted. Reads it unless it is marked sound.
  ///
  /// - Throws: `.damagedDatabase`; `.unsupportedVersion`; `.corruptedRecord` for another kind of database.
  func run() throws(CacheError) {
    try requireBelievable()
    if try isMarkedSound() { return }
    guard case .examined(let examination) = try examine(unlessMarkedSound: true) else { return }
    try Self.judge(examination, directory)
  }

  /// Throws for a cache with durability `.fast` that a system crash interrupted.
  func requireBelievable() throws(CacheError) {
    if try calling(activity, { () throws(SystemError) in try FastSession.isInterrupted(in: directory) }) {
      throw FastSession.untrusted(directory)
    }
  }

  /// Reads the whole file, again if more than one transaction was committed during it: the findings may then be false
  /// (``UnmappedFile``).
  ///
  /// - Parameter unlessMarkedSound: Whether a mark by live processes, made just before they write, suffices.
  func examine(unlessMarkedSound: Bool) throws(CacheError) -> Outcome {
    for _ in 0..<Self.attempts {
      let before = try lastTransaction()
      let examination = outcome { () throws(CacheError) in
        try DatabaseExamination(directory: directory, activity: activity)
      }
      if try lastTransaction() <= before + 1 { return .examined(try examination.get()) }
      if unlessMarkedSound, try isMarkedSound() { break }
    }
    return .restless
  }

  static func judge(_ examination: DatabaseExamination, _ directory: Directory) throws(CacheError) {
    let (reason, finding): (String, DataFileFinding?)
    switch examination {
    case .sound: return
    case .newerVersion: throw newerVersion(directory)
    case .damaged(let found): (reason, finding) = (found.description, found)
    case .wrongContents(let found): (reason, finding) = (found, nil)
    }
    guard try isKnownToBeCache(directory) else { throw CacheDirectory.notACache(directory, reason) }
    throw OpeningCheck.damaged(directory, reason, underlying: finding)
  }

  static func newerVersion(_ directory: Directory) -> CacheError {
    CacheError(
      .unsupportedVersion,
      "\(directory.path) was written by a newer version of this package. Update; nothing was changed."
    )
  }

  /// Whether a file next to the database has the header of a cache's.
  private static func isKnownToBeCache(_ directory: Directory) throws(CacheError) -> Bool {
    let marks: [(name: String, isOurs: ([UInt8]) -> Bool)] = [
      (CleanExitMark.name, CleanExitMark.isOurs), (ProcessLock.name, ProcessRecord.isOurs),
      (FastSession.name, FastSession.isOurs),
    ]
    return try calling("Looking at \(directory.path)") { () throws(SystemError) in
      for mark in marks {
        guard let file = try Self.openIfAllowed(mark.name, in: directory) else { continue }
        var beginning = [UInt8](repeating: 0, count: 8)
        if try file.read(&beginning), mark.isOurs(beginning) { return true }
      }
      return false
    }
  }

  // MARK: The mark

  private func isMarkedSound() throws(CacheError) -> Bool {
    try calling(activity) { () throws(SystemError) in
      // Read permission for the database does not imply it for the mark.
      guard try Self.openIfAllowed(CleanExitMark.name, in: directory) != nil,
        case .mark(let mark) = try CleanExitMark.read(in: directory), try mark.holds(in: directory)
      else { return false }
      guard mark.scope == .use else { return true }
      // A cheap check that the file was not truncated since.
      do throws(DataFileError) {
        return try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC)?.isWhole == true
      } catch {
        return false
      }
    }
  }

  /// Returns `nil` if the file is missing or inaccessible.
  private static func openIfAllowed(_ name: String, in directory: Directory) throws(SystemError) -> File? {
    do throws(SystemError) {
      return try directory.open(name)
    } catch {
      if error.finding == nil, error.errno == EACCES { return nil }
      throw error
    }
  }

  /// Returns 0 without a readable file; the examination reports why.
  private func lastTransaction() throws(CacheError) -> UInt64 {
    do throws(DataFileError) {
      return try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC)?.transactionID ?? 0
    } catch {
      guard case .unreadable(let error) = error else { return 0 }
      throw CacheError(error, during: activity)
    }
  }
}
