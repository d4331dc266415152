import Platform

// Files that other processes write to.

extension DataFileVerifier {
  /// How often the same damage must be found before it is believed, and the pause between looks in nanoseconds: longer
  /// than the scheduler suspends a thread in the middle of writing a page.
  private static let confirmations = 5
  static let pause: Int64 = 10_000_000

  /// Looks at the meta pages while others may commit: see ``checkMeta(directory:)``.
  ///
  /// The two pages are read at different moments, each perhaps during a write. Such damage changes with the next look;
  /// real damage stays.
  package static func checkMetaBesideWriters(
    directory: String
  ) throws(DataFileError) -> (isWhole: Bool, transactionID: UInt64)? {
    try settled { () throws(DataFileError) in try checkMeta(directory: directory) }
  }

  /// Looks until nothing is wrong, or the same damage repeats.
  static func settled<R>(
    pause: Int64 = pause, _ look: () throws(DataFileError) -> R
  ) throws(DataFileError) -> R {
    var last: DataFileError?
    var count = 0
    while true {
      do throws(DataFileError) {
        return try look()
      } catch {
        count = error == last ? count + 1 : 1
        last = error
        if count >= confirmations { throw error }
      }
      MonotonicClock.sleep(nanoseconds: pause)
    }
  }
}
