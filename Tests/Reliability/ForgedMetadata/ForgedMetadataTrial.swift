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
      let outcome = try BoundedProcess.run("soak", ["role", ForgedMetadataRole.name, path], within: 30)
      report.count("rounds")
      switch outcome.answers.last {
      case "done": report.count("opened")
      case "refused": report.count("refused by name")
      case let answer: report.fail("round \(round), \(forged): \(answer ?? "nothing")")
      }
      if !outcome.isOrderly { report.fail("round \(round), \(forged): \(outcome.ending)") }
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
