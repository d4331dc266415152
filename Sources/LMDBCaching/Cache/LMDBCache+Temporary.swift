import Foundation

extension LMDBCache {
  /// Makes a full cache for tests and previews, in its own temporary directory.
  ///
  /// The directory is removed when the cache is closed or released. If the process dies, the system cleans it up.
  ///
  /// - Parameter configuration: Its durability is replaced by ``Durability/fast``. With a ``ManualClock`` a test
  ///   decides when entries expire.
  /// - Throws: as ``init(directory:configuration:)``.
  public static func temporary(
    configuration: CacheConfiguration = CacheConfiguration()
  ) throws(CacheError) -> LMDBCache {
    var configuration = configuration
    configuration.durability = .fast
    configuration.removesDirectory = true
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-cache-\(UUID())")
    return try LMDBCache(directory: directory, configuration: configuration)
  }
}
