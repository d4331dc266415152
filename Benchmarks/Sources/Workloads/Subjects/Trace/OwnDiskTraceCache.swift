import Foundation
import LMDBCaching

/// The disk tier alone, with a second between requests. Trimmed explicitly at a tenth over its limit, since its
/// automatic trims come at varying requests.
final class OwnDiskTraceCache: TraceSubject {
  static let name = "LMDBCaching, disk only"
  private let cache: LMDBCache
  private let clock = ManualClock()
  private var batch: TraceBatch

  init(capacity: Int, directory: URL) throws {
    var configuration = CacheConfiguration()
    configuration.clock = .manual(clock)
    cache = try LMDBCache.diskOnly(directory: directory, configuration: configuration)
    cache.disk.autoTrimInterval = .zero
    cache.disk.countLimit = capacity
    batch = TraceBatch(capacity: capacity)
  }

  func contains(_ key: UInt32) -> Bool {
    clock.advance(by: .seconds(1))
    return (try? cache.value(Int.self, forKey: String(key))) == Int(key)
  }

  func insert(_ key: UInt32) {
    try! cache.set(Int(key), forKey: String(key))
    if batch.isOver() { try! cache.disk.trim(to: .limits) }
  }
}
