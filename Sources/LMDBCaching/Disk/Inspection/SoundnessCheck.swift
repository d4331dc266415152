import LMDB
import Platform

/// Whether a cache's database can be believed, found out by reading alone.
struct SoundnessCheck {
  let directory: Directory
  let activity: String

  /// How often a whole file is read in which others write more than one transaction meanwhile.
  private static let attempts = 4

  /// What reading the whole file brought.
  enum Outcome {
    case examined(DatabaseExamination)
    /// Others commit faster than it can be read.
    case restless
  }

  /// Throws if the database cannot be believed. It is read unless it is marked as sound.
  ///
  /// - Throws: `.damagedDatabase`; `.unsupportedVersion`; `.corruptedRecord` for a database that is no cache.
  func run() throws(CacheError) {
    try requireBelievable()
    if try isMarkedSound() { return }
    guard case .examined(let examination) = try examine(unlessMarkedSound: true) else { return }
    try Self.judge(examination, directory)
  }

  /// Throws for a cache with durability `.fast` that was open when the operating system stopped.
  func requireBelievable() throws(CacheError) {
    if try calling(activity, { () throws(SystemError) in try FastSession.isInterrupted(in: directory) }) {
      throw FastSession.untrusted(directory)
    }
  }

  /// Reads the whole file, again if more than one transaction was committed meanwhile: what is found then need not be wrong
  /// with any of its states. See ``UnmappedFile``.
  ///
  /// - Parameter unlessMarkedSound: Whether that is enough which others say who have the cache open. They write it down a
  ///   moment before they write to the database.
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

  /// - Throws: what the examination found to be wrong.
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

  /// Whether something beside the database says that it is a cache's, by what it begins with.
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
      // Who may read the database need not be able to read this; it is then as if there were none.
      guard try Self.openIfAllowed(CleanExitMark.name, in: directory) != nil,
        case .mark(let mark) = try CleanExitMark.read(in: directory), try mark.holds(in: directory)
      else { return false }
      guard mark.scope == .use else { return true }
      // As cheap as it is: somebody may have cut it off since.
      do throws(DataFileError) {
        return try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC)?.isWhole == true
      } catch {
        return false
      }
    }
  }

  /// Opens a file for reading; `nil` also if this user may not.
  private static func openIfAllowed(_ name: String, in directory: Directory) throws(SystemError) -> File? {
    do throws(SystemError) {
      return try directory.open(name)
    } catch {
      if error.finding == nil, error.errno == EACCES { return nil }
      throw error
    }
  }

  /// 0 if there is no file, or nothing can be said of it: the examination tells.
  private func lastTransaction() throws(CacheError) -> UInt64 {
    do throws(DataFileError) {
      return try DataFileVerifier.checkMetaBesideWriters(directory: directory.pathForC)?.transactionID ?? 0
    } catch {
      guard case .unreadable(let error) = error else { return 0 }
      throw CacheError(error, during: activity)
    }
  }
}
