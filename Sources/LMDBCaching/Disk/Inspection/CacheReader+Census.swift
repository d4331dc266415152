import Foundation

extension CacheReader {
  /// Goes through the live entries whose keys start with `prefix`, a part at a time, and adds them up.
  ///
  /// - Parameters:
  ///   - depth: How many parts of a key, each of which ends with `:` or `/`, make the beginning that it is counted by.
  ///   - greatestPrefixes: How many of those are told of at most: those with the most bytes. The others are added up.
  ///   - isCancelled: Asked now and then; what is told then is of the entries before it.
  package func census(
    withPrefix prefix: String = "", depth: Int = 1, greatestPrefixes: Int = 100, isCancelled: () -> Bool = { false }
  ) throws -> EntryCensus {
    var census = EntryCensus(depth: depth, greatestPrefixes: greatestPrefixes, at: Date())
    try forEachPage(withPrefix: prefix) { entries in
      for entry in entries { census.add(entry) }
      return !isCancelled()
    }
    census.end()
    return census
  }
}
