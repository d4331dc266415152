import Foundation
import LMDBCaching

/// Tries every public operation on a directory with forged files.
enum ForgedMetadataRole: TrialRole {
  static let name = "forged-metadata"

  static func run(_ arguments: [String]) throws {
    var isFirst = true
    for round in 0..<2 {
      let cache: LMDBCache
      do {
        cache = try TrialCache.open(arguments[0])
      } catch {
        let code = (error as? CacheError)?.code
        let isNamed = isFirst && (code == .corruptedRecord || code == .damagedDatabase)
        return answer(isNamed ? "refused" : "opening \(round): \(error)")
      }
      isFirst = false
      do {
        if let failure = try use(cache, round) { return answer("opening \(round): \(failure)") }
        try cache.close()
      } catch {
        return answer("opening \(round): \(error)")
      }
    }
    answer("done")
  }

  /// Describes the fault; nil if there is none.
  private static func use(_ cache: LMDBCache, _ round: Int) throws -> String? {
    func expect(_ key: String, _ value: Int) throws -> String? {
      for place in ["memory", "disk"] {
        let found = try cache.value(Int.self, forKey: key)
        if found != value { return "\(key) in \(place) is \(found ?? -1), and not \(value)" }
        cache.memory.removeAll()
      }
      return nil
    }
    func checkSums() throws -> String? {
      let (count, cost) = (try cache.count, try cache.totalCost)
      return count < 0 || cost < 0 ? "count \(count), cost \(cost)" : nil
    }
    if let failure = try checkSums() { return failure }
    _ = try cache.entries()
    if round > 0, let failure = try expect("kept", 1) { return failure }
    for key in ["k0", "k1", "new", "kept"] {
      try cache.set(1, forKey: key)
      try cache.flush()
      if let failure = try expect(key, 1) { return failure }
    }
    try cache.write { $0.set(2, forKey: "batched") }
    if let failure = try expect("batched", 2) ?? checkSums() { return failure }
    try cache.trim(to: .age(.seconds(3_600)))
    try cache.disk.trim(to: .limits)
    try cache.removeValue(forKey: "new")
    try cache.sweepValues()
    if try cache.value(Int.self, forKey: "new") != nil { return "what was removed is there" }
    if round == 1 {
      try cache.trim(to: .cost(1_000))
      try cache.removeAll()
      try cache.flush()
      if try cache.count != 0 || cache.totalCost != 0 {
        return try "\(cache.count) entries of \(cache.totalCost) after removeAll"
      }
      try cache.set(1, forKey: "kept")
      try cache.flush()
    }
    return try expect("kept", 1) ?? checkSums()
  }
}
