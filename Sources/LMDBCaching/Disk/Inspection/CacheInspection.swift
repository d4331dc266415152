package import Foundation
package import LMDB

import Platform
/// Looks at a cache's files without opening the cache.
package enum CacheInspection {
  /// Verifies the database of a cache that nobody writes to, as opening it would, and changes nothing.
  ///
  /// - Returns: What was found; a directory without a database is sound, and all numbers are 0.
  /// - Throws: `.busy` if processes commit faster than the file can be read; `.damagedDatabase`, whose `underlying` is the
  ///   `DataFileFinding` where the structure is damaged; `.unsupportedVersion`; `.permissionDenied` and others if the
  ///   files cannot be read.
  package static func verify(directory: URL) throws(CacheError) -> VerifiedDataFile {
    let path = directory.path
    let activity = "Verifying the cache in \(path)"
    let opened = try calling(activity) { () throws(SystemError) in try Directory(existing: path) }
    guard let opened else { return VerifiedDataFile() }
    guard
      case .examined(let examination) = try SoundnessCheck(directory: opened, activity: activity)
        .examine(unlessMarkedSound: false)
    else {
      throw CacheError(.busy, "\(activity): other processes commit faster than it can be read. Try again later.")
    }
    try SoundnessCheck.judge(examination, opened)
    guard case .sound(let file, _) = examination else { return VerifiedDataFile() }
    return file ?? VerifiedDataFile()
  }
}
