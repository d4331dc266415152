@testable import LMDBCaching

/// Stands in for a memory tier, and runs closures when it is notified.
// Unchecked: the closures are set before the store is used by another thread.
final class Onlooker: DiskStoreObserver, @unchecked Sendable {
  /// Called after a removal is recorded, and before memory tiers added later apply it.
  var didRemoveAll: () -> Void = {}
  var didEvictAll: () -> Void = {}

  func willChange(_ key: String, hash: UInt64, stamp: UInt64) {}
  func beginChange(_ key: String, hash: UInt64, stamp: UInt64) {}
  func endChange(_ key: String, hash: UInt64) {}
  func willRemove(_ scope: KeyScope, stamp: UInt64) {}
  func didChange(_ key: String, hash: UInt64, stamp: UInt64) {}
  func didRemoveAll(withPrefix prefix: String, stamp: UInt64) { didRemoveAll() }
  func lastAccess(of key: String) -> UInt32? { nil }
  func didEvict(_ key: String, stamp: UInt64, moment: UInt64) {}
  func didEvictAll(stamp: UInt64, moment: UInt64) { didEvictAll() }
  func recordReads() {}
  func storeWillClose() {}
  var size: (count: Int, cost: Int) { (0, 0) }
  func add(to statistics: inout CacheStatistics) {}
}
