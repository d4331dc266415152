import Foundation

extension CacheReader {
  /// Summarizes the live entries whose keys start with `prefix`.
  ///
  /// - Parameters:
  ///   - depth: The number of key components, each ending with `:` or `/`, to group by.
  ///   - greatestPrefixes: The number of groups to keep, those with the most bytes.
  ///   - isCancelled: Called between pages; the census then covers the entries so far.
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
