import Foundation
import LMDBCaching

/// The disk tier alone, with a second between requests. Trimmed explicitly at a tenth over its limit, since its
/// automatic trims come at varying requests.
final class OwnDiskTraceCache: TraceSubject {
  static let name = "LMDBCaching.DiskCache"
  private let cache: DiskCache
  private let clock = ManualClock()
  private var batch: TraceBatch

  init(capacity: Int, directory: URL) throws {
    var configuration = CacheConfiguration()
    configuration.clock = .manual(clock)
    cache = try DiskCache(directory: directory, configuration: configuration)
    cache.autoTrimInterval = .zero
    cache.countLimit = capacity
    batch = TraceBatch(capacity: capacity)
  }

  func contains(_ key: UInt32) -> Bool {
    clock.advance(by: .seconds(1))
    return (try? cache.value(Int.self, forKey: String(key))) == Int(key)
  }

  func insert(_ key: UInt32) {
    try! cache.set(Int(key), forKey: String(key))
    if batch.isOver() { try! cache.trimToLimits() }
  }
}
