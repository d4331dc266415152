import LMDB
import Platform

enum ReadingFailure: Error {
  /// From the database file, which is read again before the error is believed.
  case file(DataFileError)
  case system(SystemError)
  case cache(CacheError)
  /// The journal with this identifier was committed during the read, so the read must restart.
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

@inline(__always)
func fromDatabase<R>(_ body: () throws(DataFileError) -> R) throws(ReadingFailure) -> R {
  do throws(DataFileError) { return try body() } catch { throw .file(error) }
}

@inline(__always)
func fromFiles<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(ReadingFailure) -> R {
  do throws(SystemError) { return try body() } catch { throw .system(error) }
}
