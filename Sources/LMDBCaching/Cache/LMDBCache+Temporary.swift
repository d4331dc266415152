import Foundation

extension LMDBCache {
  /// Makes a cache for tests and previews, in a directory of its own for temporary files. It supports everything that
  /// other caches do.
  ///
  /// The directory is removed when the cache is closed or released. After the death of the process it is left to the
  /// system, which cleans its temporary files.
  ///
  /// - Parameter configuration: Its durability is taken for ``Durability/fast``. With a ``ManualClock`` a test decides when
  ///   entries expire.
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
