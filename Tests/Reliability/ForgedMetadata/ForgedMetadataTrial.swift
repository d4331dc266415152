import Foundation
import LMDBCaching
import TestSupport

package enum ForgedMetadataTrial: Trial {
  package static let name = "forged-metadata"
  package static let summary =
    "The cache's record, entries and journals are forged and sealed: no crash, no hang, and later writes are kept."
  package static let defaultCount = 500

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    for round in 0..<settings.count {
      let path = settings.directory + "/\(round)"
      let forged = try forge(path, &random)
      try report.run(ForgedMetadataTrial.self, [path], within: 30, "round \(round), \(forged)")
      if report.failureCount > 20 { break }
      try FileManager.default.removeItem(atPath: path)
    }
    return report
  }

  private static func number(_ random: inout SeededRandom) -> UInt64 {
    if random.below(4) == 0 { return random.next() }
    return ForgedField.extremes[random.below(ForgedField.extremes.count)]
  }

  private static func forge(_ path: String, _ random: inout SeededRandom) throws -> String {
    let cache = try TrialCache.open(path)
    for index in 0..<random.below(100) {
      try cache.set(index, forKey: "k\(index)", expires: index % 7 == 0 ? .after(.seconds(3_600)) : .never)
    }
    if random.below(2) == 0 { try cache.set(Data(count: 2 << 20), forKey: "large") }
    try cache.close()
    var done: [String] = []
    var values: [(ForgedField, UInt64)] = []
    var digest: UInt64 = 0
    for field in ForgedField.withoutDigest where random.below(4) == 0 { values.append((field, number(&random))) }
    for _ in 0..<random.below(3) {
      let key = Array("k\(random.below(100))".utf8)
      let (stamp, expires, cost) = (number(&random), number(&random), number(&random))
      let record = record(key, stamp, Int64(bitPattern: expires), Int(bitPattern: UInt(cost)))
      try ForgedDatabase.rewrite(path, key) { old in
        let removed = old.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
        digest = digest &- removed &+ UntrustedBytes.digest(ofRecord: record)
        return record
      }
      done.append("an entry with stamp \(stamp), expiry \(expires), cost \(cost)")
    }
    if random.below(3) == 0 { done.append(try placeJournal(path, &random)) }
    try ForgedDatabase.rewrite(path, ForgedField.key) { old in
      var record = old ?? []
      for (field, value) in values { field.put(value, into: &record) }
      // Otherwise the digest over all entries would reveal it.
      ForgedField.digest.put(ForgedField.digest.value(in: record) &+ digest, into: &record)
      return UntrustedBytes.sealedMetadata(record)
    }
    return (done + values.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
  }

  private static func record(_ key: [UInt8], _ stamp: UInt64, _ expires: Int64, _ cost: Int) -> [UInt8] {
    key.withUnsafeBytes { key in
      Array("forged".utf8).withUnsafeBytes {
        UntrustedBytes.record(
          of: $0, format: .string, key: key, stamp: stamp, expires: expires, cost: cost, holdsKey: false)
      }
    }
  }

  private static func placeJournal(_ path: String, _ random: inout SeededRandom) throws -> String {
    var frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)] = []
    for _ in 0...random.below(8) {
      let (key, stamp) = (Array("k\(random.below(20))".utf8), number(&random))
      let operation = UInt8(1 + random.below(4))
      frames.append(
        (operation, operation == 3 ? [] : key, operation == 1 ? record(key, stamp, 0, 1) : [], stamp))
    }
    let identifier = UInt64(1 + random.below(1_000))
    let digits = String(identifier, radix: 16)
    let folder = URL(fileURLWithPath: path + "/journals")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(UntrustedBytes.journal(frames, identifier: identifier, segments: 1 + random.below(4))).write(
      to: folder.appendingPathComponent(String(repeating: "0", count: 16 - digits.count) + digits + ".journal"))
    return "a journal of \(frames.map { "\($0.operation) \($0.stamp)" })"
  }
}

/// Tries every public operation on a directory with forged files.
extension ForgedMetadataTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    var isFirst = true
    for round in 0..<2 {
      let cache: LMDBCache
      do {
        cache = try TrialCache.open(arguments[0])
      } catch {
        let code = (error as? CacheError)?.code
        let isNamed = isFirst && (code == .corruptedRecord || code == .damagedDatabase)
        return isNamed ? count("refused by name") : answer("opening \(round): \(error)")
      }
      isFirst = false
      do {
        if let failure = try use(cache, round) { return answer("opening \(round): \(failure)") }
        try cache.close()
      } catch {
        return answer("opening \(round): \(error)")
      }
    }
    count("opened")
  }

  /// Describes the fault, or returns nil.
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
    if try cache.value(Int.self, forKey: "new") != nil { return "a removed entry is there" }
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
