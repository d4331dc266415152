import LMDB
import Platform

/// Why a look at a cache's files came to nothing.
enum ReadingFailure: Error {
  /// Of the database's file: it is read once more before it is believed.
  case file(DataFileError)
  case system(SystemError)
  /// Of one entry, or of the cache as a whole.
  case cache(CacheError)
  /// What was read of a journal is in the database by now: all is to be read again. The journal's identifier.
  case passed(journal: UInt64)

  func error(during activity: String) -> CacheError {
    switch self {
    case .file(.finding(let finding)):
      CacheError(
        .damagedDatabase,
        "\(activity): the database is damaged: \(finding). Nothing was changed. Put a copy in its place, or have it set "
          + "aside and made anew: a program that opens it with disk.recoversFromDamage, the default, does so.",
        underlying: finding)
    case .file(.unreadable(let error)) where error.code == .busy:
      CacheError(.busy, "\(activity): \(error.message)", underlying: error)
    case .file(.unreadable(let error)): CacheError(error, during: activity)
    case .system(let error): CacheError(error, during: activity)
    case .cache(let error): error
    case .passed:
      CacheError(
        .busy, "\(activity): other processes commit faster than it can be read. Try again when they write less.")
    }
  }
}

/// Reads from the database's file.
@inline(__always)
func fromDatabase<R>(_ body: () throws(DataFileError) -> R) throws(ReadingFailure) -> R {
  do throws(DataFileError) { return try body() } catch { throw .file(error) }
}

/// Reads from other files.
@inline(__always)
func fromFiles<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(ReadingFailure) -> R {
  do throws(SystemError) { return try body() } catch { throw .system(error) }
}
