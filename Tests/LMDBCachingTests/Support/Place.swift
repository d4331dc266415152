@testable import LMDBCaching

enum Place: CaseIterable, Sendable {
  case memory
  /// Pending, and evicted from memory.
  case journal
  /// Committed, and evicted from memory.
  case database

  /// Moves the entries of a cache opened with ``neverCommitting(_:)`` there.
  func settle(_ cache: LMDBCache) throws {
    if self == .database { try cache.flush() }
    if self != .memory { cache.memory.removeAll() }
  }
}
