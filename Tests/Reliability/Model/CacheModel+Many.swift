import Foundation
import LMDBCaching
import TestSupport

extension CacheModel {
  func removeAll() throws {
    note("removeAll")
    let cache = either
    switch random.below(3) {
    case 0: try cache.withoutMemory.removeAll()
    case 1: try cache.removeAllObjects()
    default: try cache.removeAll()
    }
    entries = [:]
  }

  func removePrefix() throws {
    let prefix = ModelKey.prefixes.randomElement(using: &random)!
    note("removePrefix", String(prefix.prefix(8)))
    try either.removeAll(.prefix(prefix))
    entries = entries.filter { !$0.key.hasPrefix(prefix) }
  }

  func batch() throws {
    note("batch")
    var operations: [(key: String, value: ModelValue?, expiry: Int?)] = []
    for _ in 0..<random.below(6) + 1 {
      var value = random.below(4) == 0 ? nil : value()
      // Batches do not support objects.
      if case .object? = value { value = .number(1) }
      operations.append((key(), value, random.below(4) == 0 ? random.below(5_000) : nil))
    }
    let removal = random.below(8)
    // A body that throws rolls everything back.
    let fails = random.below(8) == 0
    do {
      try either.write { batch in
        if removal == 0 { batch.removeAll(.prefix("a")) }
        if removal == 1 { batch.removeAll() }
        for (key, value, expiry) in operations {
          let duration = expiry.map { Duration.milliseconds($0) }
          switch value {
          case .text(let text): batch.set(text, forKey: key, expires: duration.map { .after($0) } ?? .never)
          case .data(let data): batch.set(data, forKey: key, expires: duration.map { .after($0) } ?? .never)
          case .number(let number): batch.set(number, forKey: key, expires: duration.map { .after($0) } ?? .never)
          case .object, nil: batch.removeValue(forKey: key)
          }
        }
        if fails { throw CancellationError() }
      }
    } catch is CancellationError {
      return
    }
    if removal == 0 { entries = entries.filter { !$0.key.hasPrefix("a") } }
    if removal == 1 { entries = [:] }
    for (key, value, expiry) in operations {
      if let value { put(key, value, expiry, nil) } else { entries[ModelKey(key)] = nil }
    }
  }

  func compareEntries() throws {
    let prefix = ["", "a", "a/", "b"].randomElement(using: &random)!
    note("entries", prefix)
    try reconcile()
    let found = try either.entries(withPrefix: prefix)
    let expected = entries.filter { $0.key.hasPrefix(prefix) && ($0.value.expires.map { $0 > time.now } ?? true) }
    let keys = expected.keys.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    if found.map({ Array($0.key.utf8) }) != keys { throw ModelMismatch("entries of '\(prefix)'") }
    for entry in found {
      let model = expected[ModelKey(entry.key)]!
      if let cost = model.cost, entry.cost != cost { throw ModelMismatch("cost of \(entry.key.prefix(8))") }
      // A transform adds its mark to the size.
      if !configuration.isTransforming, let size = model.value.size, entry.size != size {
        throw ModelMismatch("size of \(entry.key.prefix(8))")
      }
      if (entry.expiration == nil) != (model.expires == nil) { throw ModelMismatch("expiry of \(entry.key.prefix(8))") }
    }
  }

  /// A snapshot never changes, whatever is written while it is open.
  func snapshot() throws {
    note("snapshot")
    try reconcile()
    let before = entries
    let (held, writer) = (either, either)
    let now = time.now
    try held.read { snapshot in
      for _ in 0..<random.below(4) {
        switch random.below(4) {
        case 0: try remove()
        case 1: try writer.flush()
        default: try set()
        }
      }
      let live = before.filter { $0.value.expires.map { $0 > now } ?? true }
      let keys = live.keys.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
      if try snapshot.entries().map({ Array($0.key.utf8) }) != keys { throw ModelMismatch("a snapshot's entries") }
      for name in ModelKey.all.shuffled(using: &random).prefix(4) {
        let expected = live[ModelKey(name)]
        if try snapshot.contains(name) != (expected != nil) { throw ModelMismatch("a snapshot's \(name.prefix(8))") }
        // Replaced values in the value log must stay readable too. A snapshot has no objects.
        guard let expected, expected.value.size != nil else { continue }
        let found: ModelValue? =
          switch expected.value {
          case .text: try snapshot.value(String.self, forKey: name).map { .text($0) }
          case .data: try snapshot.value(Data.self, forKey: name).map { .data($0) }
          case .number: try snapshot.value(Int.self, forKey: name).map { .number($0) }
          case .object: nil
          }
        if found != expected.value { throw ModelMismatch("a snapshot's value of \(name.prefix(8))") }
      }
    }
  }
}
