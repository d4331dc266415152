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
    let work = URL(fileURLWithPath: settings.directory, isDirectory: true)
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    let foreign = work.appendingPathComponent("another")
    try CorruptionShape.valueLog.make(in: foreign, earlier: work.appendingPathComponent("another-earlier"))
    let models = try CorruptionShape.allCases.map { try CorruptionModel($0, in: work, foreign: foreign) }
    for round in 0..<settings.count where report.failureCount <= 20 {
      let model = models[round % models.count]
      let target = model.shape.targets.randomElement(using: &random)!
      let circumstance = Circumstance.allCases[round / models.count % 3]
      let directory = work.appendingPathComponent("round")
      let done = try model.damage(target, in: directory, circumstance, &random)
      report.count(done.name)
      report.count(done.place)
      // Without its newest meta page LMDB falls back by one transaction, as after a power cut, and a damaged journal
      // ends at the damage. Nothing else may bring back an older value.
      let mayGoBack = done.place == "\(DatabaseImage.PageKind.meta) pages" || model.shape == .journal
      let arguments = [
        circumstance == .silent ? "always" : "afterUncleanExit", model.shape.rawValue, "\(mayGoBack)", directory.path,
      ]
      try report.run(
        Self.self, arguments, within: 60, "round \(round), \(model.shape), \(circumstance): \(done.text)")
    }
    return report
  }

  package static func run(_ arguments: [String]) throws {
    guard let shape = CorruptionShape(rawValue: arguments[1]) else { throw CocoaError(.featureUnsupported) }
    let round = Round(
      shape: shape, verification: arguments[0] == "always" ? .always : .afterUncleanExit, directory: arguments[3])
    for isFirst in [true, false] { round.use(isFirst: isFirst) }
    if let wrong = round.wrong.first { answer(wrong) }
    if round.earlier > 0, arguments[2] != "true" { answer("\(round.earlier) values that were replaced") }
    count("recoveries", round.recoveries)
    count("errors", round.errors)
    count("missing", round.missing)
    count("earlier values", round.earlier)
  }

  private final class Round {
    let shape: CorruptionShape
    let verification: CacheVerification
    let directory: URL
    var recoveries = 0, errors = 0, missing = 0, earlier = 0
    var wrong: [String] = []

    init(shape: CorruptionShape, verification: CacheVerification, directory: String) {
      self.shape = shape
      self.verification = verification
      self.directory = URL(fileURLWithPath: directory)
    }

    func use(isFirst: Bool) {
      do {
        let cache = try LMDBCache(directory: directory, configuration: CorruptionShape.configuration(verification))
        if cache.recovery != nil { recoveries += 1 }
        readAll(cache, isTrimmed: !isFirst)
        enumerate(cache)
        let written = Data("written \(isFirst)".utf8)
        do {
          try cache.set(written, forKey: "written")
          if try cache.value(Data.self, forKey: "written") != written { wrong.append("the new value is lost") }
          try cache.set(shape.value("another", 1), forKey: "another")
          try cache.removeValue(forKey: shape.keys[0])
          try cache.set(shape.value(shape.keys[0], CorruptionShape.lastVersion), forKey: shape.keys[0])
          try cache.flush()
        } catch {
          errors += 1
        }
        // The sweep empties sparse segments and removes unreferenced files.
        do { try cache.sweepValues() } catch { errors += 1 }
        cache.memory.removeAll()
        readAll(cache, isTrimmed: !isFirst)
        if isFirst { try cache.trim(to: .count(shape.keys.count)) }
        try cache.close()
      } catch {
        errors += 1
      }
    }

    private enum Found { case last, earlier, nothing, failure }

    /// - Parameter isTrimmed: Whether a trim may have removed entries.
    private func readAll(_ cache: LMDBCache, isTrimmed: Bool) {
      let found = shape.keys.map { (key: $0, what: read($0, cache)) }
      if shape != .journal { return }
      var isBehindLoss = false
      for (key, what) in found {
        // Once a write is lost, every later write must be lost too.
        if what == .last, isBehindLoss { wrong.append("\(key) has outlived a write before it") }
        if what == .earlier { isBehindLoss = true }
      }
      // A batch is all or nothing. Read failures are reported separately.
      var batch = Set(found.suffix(CorruptionShape.batchLength).map { $0.what })
      batch.remove(.failure)
      if isTrimmed { batch.remove(.nothing) }
      if batch.count > 1 { wrong.append("a part of a batch") }
    }

    private func read(_ key: String, _ cache: LMDBCache) -> Found {
      do {
        guard let value = try cache.value(Data.self, forKey: key) else {
          missing += 1
          return .nothing
        }
        if value == shape.value(key, CorruptionShape.lastVersion) { return .last }
        let version = (1..<CorruptionShape.lastVersion).first { value == shape.value(key, $0) }
        if version != nil { earlier += 1 } else { wrong.append("\(key.prefix(20)) has \(value.count) other bytes") }
        return .earlier
      } catch {
        errors += 1
        return .failure
      }
    }

    private func enumerate(_ cache: LMDBCache) {
      let known = Set(shape.keys + ["written", "another"])
      do {
        for entry in try cache.entries() where !known.contains(entry.key) {
          // Listing reads no values, so a damaged record may show any key. Its value must be unreadable.
          if try cache.value(Data.self, forKey: entry.key) != nil, !entry.key.hasPrefix("other ") {
            wrong.append("an unknown key \(entry.key.prefix(20))")
          }
        }
      } catch {
        errors += 1
      }
    }
  }
}
