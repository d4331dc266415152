import CBORCoding
import Foundation
import LMDBCaching
import Reporting

/// Reads and decodes structures on the disk, compared with LMDB in C and the cache's decoder: the lower bound for a
/// value that is not in memory.
enum DiskStructs {
  static func workload(keys count: Int) -> Workload {
    Workload("disk.get.struct", Parameters(keys: count)) { setting in
      let keys = DiskShape(size: 0, count: count).keys(seed: 12)
      let order = keys.strings.map { Int($0.split(separator: ":").last!)! }
      return try [tiers(keys, order, setting), disk(keys, order, setting), floor(keys, order, setting)]
    }
  }

  /// Both tiers, with a hundredth of the keys in memory: read in order, none is still in memory when its turn comes
  /// again.
  private static func tiers(_ keys: KeyList, _ order: [Int], _ setting: Setting) throws -> Trial {
    let directory = try setting.directory()
    var configuration = CacheConfiguration()
    configuration.memory.countLimit = max(1, keys.count / 100)
    let cache = try LMDBCache(directory: directory, configuration: configuration)
    for number in order { try cache.set(Profile(id: number), forKey: RequestKeys.text(number)) }
    try cache.flush()
    return trial("LMDBCaching.LMDBCache", order) {
      try cache.value(Profile.self, forKey: keys.strings[$0])
    } finish: {
      let hits = cache.statistics.memoryHits
      guard hits * 100 <= cache.statistics.diskHits else {
        throw WorkloadError("\(hits) reads of what is on the disk were served from memory.")
      }
      try cache.close()
      try setting.remove(directory)
    }
  }

  private static func disk(_ keys: KeyList, _ order: [Int], _ setting: Setting) throws -> Trial {
    let directory = try setting.directory()
    let cache = try LMDBCache.diskOnly(directory: directory)
    for number in order { try cache.set(Profile(id: number), forKey: RequestKeys.text(number)) }
    try cache.flush()
    return trial("LMDBCaching, disk only", order) {
      try cache.value(Profile.self, forKey: keys.strings[$0])
    } finish: {
      try cache.close()
      try setting.remove(directory)
    }
  }

  private static func floor(_ keys: KeyList, _ order: [Int], _ setting: Setting) throws -> Trial {
    let directory = try setting.directory()
    let encoder = CBOREncoder()
    let decoder = CBORDecoder()
    let lmdb = try RawLMDB(directory, 4096, .noSync)
    for (place, number) in order.enumerated() { try lmdb.set(keys.only(place), encoder.encode(Profile(id: number))) }
    return trial("LMDB in C, then the decoder", order) { place in
      // Without a copy beyond the read's own.
      try lmdb.withValue(keys.raw.baseAddress! + place) { try decoder.decode(Profile.self, from: $0) }
    } finish: {
      lmdb.close()
      try setting.remove(directory)
    }
  }

  private static func trial(
    _ name: String, _ order: [Int], get: @escaping (Int) throws -> Profile?, finish: @escaping () throws -> Void
  ) -> Trial {
    let sum = order.reduce(0, +)
    return Trial(
      name, operations: order.count,
      verify: {
        for (place, number) in order.enumerated() where try get(place) != Profile(id: number) {
          throw WorkloadError("\(name) gave another structure than it was given.")
        }
      },
      finish: finish,
      body: {
        var found = 0
        for place in order.indices { found &+= try get(place)?.id ?? .min }
        guard found == sum else { throw WorkloadError("\(name) lost a structure.") }
      })
  }
}
