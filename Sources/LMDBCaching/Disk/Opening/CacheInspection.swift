package import Foundation
package import LMDB

import Platform
/// Looks at a cache's files without opening the cache.
package enum CacheInspection {
  /// Verifies the database of a cache that nobody has open, as opening it would, and changes nothing.
  ///
  /// - Returns: What was found; a directory without a database is sound, and all numbers are 0.
  /// - Throws: `.busy` if a process has the cache open; `.damagedDatabase`, whose `underlying` is the
  ///   `DataFileFinding` where the structure is damaged; `.unsupportedVersion`; `.permissionDenied` and others if the
  ///   files cannot be read.
  package static func verify(directory: URL) throws(CacheError) -> VerifiedDataFile {
    let path = directory.path
    let activity = "Verifying the cache in \(path)"
    let opened = try calling(activity) { () throws(SystemError) in try Directory(existing: path) }
    guard let opened else { return VerifiedDataFile() }
    let lock = try calling(activity) { () throws(SystemError) -> FileLock? in
      guard let file = try opened.open(ProcessLock.name) else { return nil }
      return FileLock(file)
    }
    if let lock, try !calling(activity, { () throws(SystemError) in try lock.tryLock(.exclusive) }) {
      throw CacheError(
        .busy, "A process has the cache in \(path) open, and may be writing to it. Close it there, and try again.")
    }
    switch try DatabaseExamination(directory: opened, activity: activity) {
    case .sound(let file, _): return file ?? VerifiedDataFile()
    case .newerVersion:
      throw CacheError(.unsupportedVersion, "\(path) was written by a newer version of this package. Update.")
    case .damaged(let finding): throw Self.damaged(path, finding.description, finding)
    case .wrongContents(let reason): throw Self.damaged(path, reason, nil)
    }
  }

  private static func damaged(_ path: String, _ reason: String, _ finding: DataFileFinding?) -> CacheError {
    CacheError(
      .damagedDatabase,
      "\(path)/data.mdb is damaged: \(reason). The cache is set aside, and made anew, when it is opened next.",
      underlying: finding)
  }
}
