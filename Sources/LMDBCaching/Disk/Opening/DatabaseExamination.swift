import LMDB
import Platform

/// What reading a cache's whole database brought.
enum DatabaseExamination {
  /// The file is `nil` if there is no database yet.
  case sound(VerifiedDataFile?, CacheContents)
  /// Of a newer version of this package: not for this one to judge.
  case newerVersion
  /// The structure is damaged.
  case damaged(DataFileFinding)
  /// The structure is sound, and its entries are not the cache's.
  case wrongContents(String)

  /// The file is read, and nobody may write to it meanwhile.
  init(directory: Directory, activity: String) throws(CacheError) {
    do throws(DataFileError) {
      let contents = CacheContents()
      let file = try DataFileVerifier.verify(directory: directory.pathForC, visit: contents.note)
      switch contents.judgement {
      case .sound: self = .sound(file, contents)
      case .other: self = .newerVersion
      case .damaged(let reason):
        // One damaged record is lost alone, and its read says so.
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
