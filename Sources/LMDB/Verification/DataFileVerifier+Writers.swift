import Platform

// Files that other processes write to.

extension DataFileVerifier {
  /// How often the same has to be found before it is believed, and what is waited in between, in nanoseconds: longer than
  /// the system leaves who writes a page alone in the middle of it.
  private static let confirmations = 5
  static let pause: Int64 = 10_000_000

  /// Looks at the meta pages while others may commit: see ``checkMeta(directory:)``.
  ///
  /// The two pages are read at two moments, and each perhaps while it is being written. What is wrong with such a picture
  /// is another thing at the next look; what is wrong with the file stays.
  package static func checkMetaBesideWriters(
    directory: String
  ) throws(DataFileError) -> (isWhole: Bool, transactionID: UInt64)? {
    try settled { () throws(DataFileError) in try checkMeta(directory: directory) }
  }

  /// Looks until there is nothing wrong, or the same again and again.
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
