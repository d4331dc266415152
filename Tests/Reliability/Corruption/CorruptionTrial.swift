import Foundation
import LMDBCaching
import TestSupport

/// Whatever happens to a cache's files, opening it never crashes and never reads a value that was not written.
///
/// Each round opens the cache after an unclean exit, after a visible change following a clean exit, or with
/// verification after a change that no date shows. Its role opens, reads, writes and reopens a damaged cache:
/// `VERIFICATION SHAPE MAY-GO-BACK DIRECTORY`.
package enum CorruptionTrial: Trial, TrialRole {
  package static let name = "corruption"
  package static let summary =
    "the database, segments of values and journals are changed, zeroed, cut off, exchanged or put back: no crash, no wrong "
    + "value"
  package static let defaultCount = 20_000

  enum Circumstance: String, CaseIterable { case unclean, changed, silent }

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    let work = settings.directory
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    try CorruptionShape.valueLog.make(at: work + "/another", earlier: work + "/another-earlier")
    let models = try CorruptionShape.allCases.map { try CorruptionModel($0, in: work, foreign: work + "/another") }
    for round in 0..<settings.count where report.failureCount <= 20 {
      let model = models[round % models.count]
      let target = model.shape.targets.randomElement(using: &random)!
      let circumstance = Circumstance.allCases[round / models.count % 3]
      let done = try model.damage(target, in: work + "/round", circumstance, &random)
      report.count(done.name)
      report.count(done.place)
      // Without its newest meta page LMDB falls back by one transaction, as after a power cut, and a damaged journal
      // ends at the damage. Nothing else may bring back an older value.
      let mayGoBack = done.place == "\(DatabaseImage.PageKind.meta) pages" || model.shape == .journal
      let arguments = [
        circumstance == .silent ? "always" : "afterUncleanExit", model.shape.rawValue, "\(mayGoBack)", work + "/round",
      ]
      try report.run(
        Self.self, arguments, within: 60, "round \(round), \(model.shape), \(circumstance): \(done.text)")
    }
    return report
  }

  package static func run(_ arguments: [String]) throws {
    var round = Round(
      shape: CorruptionShape(rawValue: arguments[1])!,
      verification: arguments[0] == "always" ? .always : .afterUncleanExit, path: arguments[3])
    for isFirst in [true, false] { round.use(isFirst: isFirst) }
    if let wrong = round.wrong.first { answer(wrong) }
    if round.earlier > 0, arguments[2] != "true" { answer("\(round.earlier) values that were replaced") }
    count("recoveries", round.recoveries)
    count("errors", round.errors)
    count("earlier values", round.earlier)
  }

  private struct Round {
    let shape: CorruptionShape
    let verification: CacheVerification
    let path: String
    var recoveries = 0, errors = 0, earlier = 0
    var wrong: [String] = []

    /// Errors are expected, but no crash.
    private mutating func attempt(_ body: (inout Self) throws -> Void) {
      do { try body(&self) } catch { errors += 1 }
    }

    mutating func use(isFirst: Bool) {
      attempt { round in
        let shape = round.shape
        let cache = try CorruptionShape.open(round.path, round.verification)
        if cache.recovery != nil { round.recoveries += 1 }
        round.readAll(cache, isTrimmed: !isFirst)
        round.attempt { try $0.list(cache) }
        round.attempt { round in
          let written = Data("written \(isFirst)".utf8)
          try cache.set(written, forKey: "written")
          if try cache.value(Data.self, forKey: "written") != written { round.wrong.append("the new value is lost") }
          try cache.set(shape.value("another", 1), forKey: "another")
          try cache.removeValue(forKey: shape.keys[0])
          try cache.set(shape.value(shape.keys[0], CorruptionShape.lastVersion), forKey: shape.keys[0])
          try cache.flush()
        }
        // The sweep empties sparse segments and removes unreferenced files.
        round.attempt { _ in try cache.sweepValues() }
        cache.memory.removeAll()
        round.readAll(cache, isTrimmed: !isFirst)
        if isFirst { try cache.trim(to: .count(shape.keys.count)) }
        try cache.close()
      }
    }

    private enum Found { case last, earlier, nothing, failure }

    /// - Parameter isTrimmed: Whether a trim may have removed entries.
    private mutating func readAll(_ cache: LMDBCache, isTrimmed: Bool) {
      var found: [Found] = []
      for key in shape.keys {
        found.append(.failure)
        attempt { found[found.count - 1] = try $0.read(key, cache) }
      }
      if shape != .journal { return }
      // Once a write is lost, every later write must be lost too.
      if let loss = found.firstIndex(of: .earlier), found[loss...].contains(.last) {
        wrong.append("a write has outlived one before it, \(shape.keys[loss])")
      }
      // A batch is all or nothing. Read failures are reported separately.
      var batch = Set(found.suffix(CorruptionShape.batchLength))
      batch.remove(.failure)
      if isTrimmed { batch.remove(.nothing) }
      if batch.count > 1 { wrong.append("a part of a batch") }
    }

    private mutating func read(_ key: String, _ cache: LMDBCache) throws -> Found {
      guard let value = try cache.value(Data.self, forKey: key) else { return .nothing }
      if value == shape.value(key, CorruptionShape.lastVersion) { return .last }
      let isKnown = (1..<CorruptionShape.lastVersion).contains { value == shape.value(key, $0) }
      if isKnown { earlier += 1 } else { wrong.append("\(key.prefix(20)) has \(value.count) other bytes") }
      return .earlier
    }

    private mutating func list(_ cache: LMDBCache) throws {
      let known = Set(shape.keys + ["written", "another"])
      for entry in try cache.entries() where !known.contains(entry.key) && !entry.key.hasPrefix("other ") {
        // Listing reads no values, so a damaged record may show any key. Its value must be unreadable.
        if try cache.value(Data.self, forKey: entry.key) != nil {
          wrong.append("an unknown key \(entry.key.prefix(20))")
        }
      }
    }
  }
}
