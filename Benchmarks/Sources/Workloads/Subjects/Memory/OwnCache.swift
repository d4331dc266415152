import Foundation
import LMDBCaching

/// Both tiers, with reads from memory.
struct OwnCache<Content: Numbered>: MemorySubject {
  static var name: String {
    Content.self == Int.self ? "LMDBCaching.LMDBCache" : "LMDBCaching.LMDBCache, Codable struct"
  }

  private let cache: LMDBCache

  init(capacity: Int?, _ setting: Setting) throws {
    var configuration = CacheConfiguration()
    configuration.memory = .unlimited
    configuration.memory.countLimit = capacity ?? .max
    cache = try LMDBCache(directory: try setting.directory(), configuration: configuration)
  }

  func number(forKey key: String) throws -> Int? { try cache.value(Content.self, forKey: key)?.number }

  func sum(forKeys keys: [String]) throws -> Int {
    var sum = 0
    for value in try cache.values(Content.self, forKeys: keys) { sum &+= value?.number ?? .min }
    return sum
  }

  func set(_ value: Payload, forKey key: String) throws { try cache.set(Content(number: value.number), forKey: key) }

  func finish() throws {
    guard cache.statistics.diskHits == 0 else { throw WorkloadError("A read was not served from memory.") }
    try cache.close()
    try FileManager.default.removeItem(at: cache.directory)
  }
}

protocol Numbered: Codable, Sendable {
  init(number: Int)
  var number: Int { get }
}

extension Int: Numbered {
  init(number: Int) { self = number }
  var number: Int { self }
}

extension Profile: Numbered {
  init(number: Int) { self.init(id: number) }
  var number: Int { id }
}
