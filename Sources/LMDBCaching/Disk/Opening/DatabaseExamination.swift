import LMDB
import Platform

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
      let file = try DataFileVerifier.verify(directory: directory.pathForC, visit: contents.note)
      switch contents.judgement {
      case .sound: self = .sound(file, contents)
      case .other: self = .newerVersion
      case .damaged(let reason):
        // A single damaged record affects only its own entry, and reading it reports the damage.
        let closely = CacheContents(checksRecords: true)
        _ = try DataFileVerifier.verify(directory: directory.pathForC, visit: closely.note)
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
