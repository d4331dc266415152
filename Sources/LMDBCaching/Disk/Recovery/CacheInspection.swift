public import Foundation
public import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Looks at a cache's files without opening the cache.
public enum CacheInspection {
  /// Verifies the database of a cache that nobody has open, as opening it would, and changes nothing.
  ///
  /// - Returns: What was found; a directory without a database is sound, and all numbers are 0.
  /// - Throws: `.busy` if a process has the cache open; `.damagedDatabase`, whose `underlying` is the
  ///   `DataFileFinding` where the structure is damaged; `.unsupportedVersion`; `.permissionDenied` and others if the
  ///   files cannot be read.
  public static func verify(directory: URL) throws(CacheError) -> VerifiedDataFile {
    let path = directory.path
    let activity = "Verifying the cache in \(path)"
    let lock = try calling(activity) { () throws(SystemError) in try existingLock(path) }
    if let lock, !(try calling(activity, { () throws(SystemError) in try lock.tryLock() })) {
      throw CacheError(
        .busy, "A process has the cache in \(path) open, and may be writing to it. Close it there, and try again.")
    }
    switch try DatabaseExamination(directory: path, activity: activity) {
    case .sound(let file): return file ?? VerifiedDataFile()
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

  /// The lock that processes share which have the cache open; nil: it never was.
  private static func existingLock(_ directory: String) throws(SystemError) -> File? {
    do throws(SystemError) {
      return try File(directory + "/" + ProcessLock.name, flags: O_RDONLY)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
  }
}
