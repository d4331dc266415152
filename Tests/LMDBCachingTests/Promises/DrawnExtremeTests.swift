import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Numbers at the ends of their ranges, drawn from a seed: those in forged files, and those of the wall clock.
@Suite struct DrawnExtremeTests {
  let directory = CacheDirectory()

  // MARK: Forged numbers under valid checksums

  /// They end no process and hide no later write.
  @Test(arguments: 1...12 as ClosedRange<UInt64>) func forgedNumbersHideNoLaterWrite(_ seed: UInt64) throws {
    let forged = try forge(seed)
    let path = directory.path
    var steps: [(String, ProcessScript.Answer)] = []
    for isFirst in [true, false] {
      steps.append(("open \(path)", isFirst ? .okUnlessRefused(["corruptedRecord", "damagedDatabase"]) : .ok))
      steps += [("count", .natural), ("cost", .natural), ("keys", .noError)]
      if !isFirst { steps += [("get kept", .text("v")), ("forget", .ok), ("get kept", .text("v"))] }
      for key in ["k0", "k1", "new", "kept"] {
        steps += [("set \(key) v", .ok), ("flush", .ok), ("forget", .ok), ("get \(key)", .text("v"))]
      }
      steps += [
        ("batch batched w", .ok), ("forget", .ok), ("get batched", .text("w")), ("count", .natural), ("cost", .natural),
        ("trimage 3600000000000", .ok), ("trimlimits", .ok), ("remove new", .ok), ("sweep", .ok),
        ("get new", .text("nil")), ("get kept", .text("v")), ("count", .natural),
      ]
      if !isFirst {
        steps += [
          ("trimcost 1000", .ok), ("removeall", .ok), ("flush", .ok), ("count", .text("0")), ("cost", .text("0")),
          ("set kept w", .ok), ("flush", .ok), ("forget", .ok), ("get kept", .text("w")),
        ]
      }
      steps.append(("close", .ok))
    }
    let failures = try ProcessScript(steps).failures()
    #expect(failures == [], "\(forged)")
  }

  private func forge(_ seed: UInt64) throws -> String {
    var random = SeededRandom(seed)
    func number() -> UInt64 {
      random.below(4) == 0 ? random.next() : ForgedField.extremes.randomElement(using: &random)!
    }
    let cache = try directory.open()
    for index in 0..<random.below(100) {
      try cache.set("\(index)", forKey: "k\(index)", expires: index % 7 == 0 ? .after(.seconds(3_600)) : .never)
    }
    try cache.close()
    var forged: [String] = []
    var digest: UInt64 = 0
    for _ in 0..<random.below(3) {
      let key = Array("k\(random.below(100))".utf8)
      let (stamp, expires, cost) = (number(), number(), number())
      let record = key.withUnsafeBytes { key in
        Array("forged".utf8).withUnsafeBytes {
          UntrustedBytes.record(
            of: $0, format: .string, key: key, stamp: stamp, expires: Int64(bitPattern: expires),
            cost: Int(bitPattern: UInt(cost)), holdsKey: false)
        }
      }
      try ForgedDatabase.rewrite(directory.path, key) { old in
        let removed = old.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
        digest = digest &- removed &+ UntrustedBytes.digest(ofRecord: record)
        return record
      }
      forged.append("an entry with stamp \(stamp), expiry \(expires), cost \(cost)")
    }
    let fields = ForgedField.withoutDigest.filter { _ in random.below(4) == 0 }.map { ($0, number()) }
    try ForgedDatabase.rewrite(directory.path, ForgedField.key) { old in
      var record = old ?? []
      for (field, value) in fields { field.put(value, into: &record) }
      // Otherwise the digest over all entries would reveal it.
      ForgedField.digest.put(ForgedField.digest.value(in: record) &+ digest, into: &record)
      return UntrustedBytes.sealedMetadata(record)
    }
    return (forged + fields.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
  }

  // MARK: Wall clocks that are set, before 1970 and after 2106 too

  private static let second: Int64 = 1_000_000_000
  private static let far: [Int64] = [
    -9_000_000_000, -86_400, 0, 1_700_000_000, 4_294_967_290, 4_294_967_300, 9_000_000_000,
  ].map { $0 * second }

  /// No expired entry is served, and no other entry is lost.
  @Test(arguments: 1...6 as ClosedRange<UInt64>) func noClockLosesAnEntry(_ seed: UInt64) throws {
    /// `expires` is a time of the cache's clock; an entry that has ever expired may be gone.
    struct Entry { var value: Int, expires: Int64, mayBeGone = false }
    var random = SeededRandom(seed)
    var entries: [String: Entry] = [:]
    let clock = ManualClock()
    for _ in 0..<8 {
      let time = CacheClock.manual(clock)
      let cache = try directory.open { $0.clock = time }
      for step in 0..<20 {
        let before = time.now
        switch random.below(8) {
        case 0, 1, 2:
          let (key, seconds) = ("k\(random.below(12))", Int64(random.below(300)) - 99)
          try cache.set(step, forKey: key, expires: seconds > 0 ? .after(.seconds(seconds)) : .never)
          let (sum, overflows) = before.addingReportingOverflow(seconds * Self.second)
          // 0 is stored for "never".
          entries[key] = Entry(value: step, expires: seconds <= 0 || overflows ? .max : sum == 0 ? 1 : sum)
        case 3: clock.set(Self.far.randomElement(using: &random)!)
        case 4: clock.set(clock.now + Int64(random.below(2_000) - 1_000) * Self.second)
        case 5: clock.advance(by: .seconds(random.below(200)))
        case 6: try random.below(2) == 0 ? cache.disk.trim(to: .limits) : cache.flush()
        default: cache.memory.removeAll()
        }
        let now = time.now
        #expect(now >= before && now >= clock.now, "seed \(seed)")
        let listed = Set(try cache.entries().map(\.key))
        for (key, entry) in entries {
          let isOver = entry.expires <= now
          if isOver { entries[key]?.mayBeGone = true }
          let value = try cache.value(Int.self, forKey: key)
          let isRight = value.map { $0 == entry.value && !isOver } ?? (isOver || entry.mayBeGone)
          let disk = try cache.withoutMemory.value(Int.self, forKey: key)
          #expect(
            isRight && disk == value && listed.contains(key) == (value != nil),
            "seed \(seed), \(key) at \(now): \(String(describing: value)), not \(entry)")
        }
      }
      try cache.close()
    }
  }
}
