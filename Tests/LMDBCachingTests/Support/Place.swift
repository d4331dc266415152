@testable import LMDBCaching

/// Where a read finds its value.
enum Place: CaseIterable, Sendable {
  case memory
  /// Written and not committed, out of memory.
  case journal
  /// Committed, out of memory.
  case database

  /// Moves what a cache opened with ``neverCommitting(_:)`` holds there.
  func settle(_ cache: LMDBCache) throws {
    if self == .database { try cache.flush() }
    if self != .memory { cache.memoryCache.removeAll() }
  }
}
