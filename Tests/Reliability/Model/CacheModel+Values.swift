import Foundation
import LMDBCaching
import TestSupport

extension CacheModel {
  func live(_ key: String) -> ModelEntry? {
    guard let entry = entries[ModelKey(key)] else { return nil }
    if let expires = entry.expires, expires <= time.now { return nil }
    return entry
  }

  func value() -> ModelValue {
    let size = [0, 1, 20, 99, 100, 200, 1_023, 1_024, 1_025, 3_000, 5_999, 6_000, 6_001, 9_000, 40_000]
      .randomElement(using: &random)!
    switch random.below(7) {
    case 0, 1: return .text(String(repeating: Character(UnicodeScalar(UInt8(97 + random.below(26)))), count: size))
    case 2, 3: return .data(Data(repeating: UInt8(random.below(256)), count: size))
    case 4: return .object((0..<random.below(4)).map { String(repeating: "o", count: $0 + size / 4) })
    default: return .number(random.below(1 << 40))
    }
  }

  func set() throws {
    let (key, value) = (key(), value())
    let expiry: Int? = random.below(4) == 0 ? random.below(8_000) - 500 : nil
    let cost: Int? = random.below(3) == 0 ? random.below(configuration.isLimited ? 20_000 : 1 << 36) : nil
    note("set", "\(key.prefix(8)) \(value.size ?? -1) expires \(expiry ?? -1)")
    let duration = expiry.map { Duration.milliseconds($0) }
    let cache = either
    try store(value, key, duration, cost, in: random.below(4) == 0 ? cache.withoutMemory : cache)
    put(key, value, expiry, cost)
  }

  private func store(
    _ value: ModelValue, _ key: String, _ duration: Duration?, _ cost: Int?, in cache: LMDBCache
  ) throws {
    let expires = duration.map { Expiry.after($0) } ?? .never
    switch value {
    case .text(let text): try cache.set(text, forKey: key, expires: expires, cost: cost)
    case .data(let data): try cache.set(data, forKey: key, expires: expires, cost: cost)
    case .number(let number): try cache.set(number, forKey: key, expires: expires, cost: cost)
    case .object: try cache.setObject(value.object, forKey: key, expires: expires, cost: cost)
    }
  }

  func put(_ key: String, _ value: ModelValue, _ expiry: Int?, _ cost: Int?) {
    put(key, value, expires: expiry.map { time.now + Int64(max(0, $0)) * 1_000_000 }, cost: cost)
  }

  /// - Parameter expires: Nanoseconds since 1970; nil: never.
  func put(_ key: String, _ value: ModelValue, expires: Int64?, cost: Int? = nil, tags: Set<String> = []) {
    entries[ModelKey(key)] = ModelEntry(
      value: value, expires: expires, cost: cost ?? value.size.map { key.utf8.count + $0 }, written: time.now,
      used: time.now, tags: tags)
    noteLimits()
  }

  func get() throws {
    let (key, cache) = (key(), either)
    note("get", String(key.prefix(8)))
    let expected = live(key)
    var found: ModelValue?
    do throws(CacheError) {
      switch random.below(7) {
      case 0: found = try cache.value(Data.self, forKey: key).map { .data($0) }
      case 1: found = try cache.value(Int.self, forKey: key).map { .number($0) }
      case 2: found = try cache.withoutMemory.value(String.self, forKey: key).map { .text($0) }
      case 3: found = try cache.withoutMemory.value(Data.self, forKey: key).map { .data($0) }
      case 4: return try getExactly(key, in: cache)
      case 5: return try getBytes(key, in: cache)
      default: found = try cache.value(String.self, forKey: key).map { .text($0) }
      }
    } catch {
      // Read as a wrong type.
      guard error.code == .typeMismatch || error.code == .decodingFailed, expected != nil else { throw error }
      return use(key)
    }
    use(key)
    if found == nil, case .data? = expected?.value {
    } else if found == nil, expected != nil, !mayHaveEvicted {
      throw ModelMismatch("\(key.prefix(8)): nothing, not \(expected!)")
    }
    try compare(found, key)
    if try cache.contains(key) != (expected != nil) && !mayHaveEvicted {
      throw ModelMismatch("contains \(key.prefix(8))")
    }
  }

  /// The found value must be the expected one, or nil if it may be gone.
  private func compare(_ found: ModelValue?, _ key: String) throws {
    let expected = live(key)
    if found == expected?.value || (found == nil && mayHaveEvicted) { return }
    // An empty array is also empty data.
    if found == .data(Data()), expected?.value == .object([]) { return }
    throw ModelMismatch("\(key.prefix(8)): \(String(describing: found)), not \(String(describing: expected))")
  }

  func getExactly(_ key: String, in cache: LMDBCache? = nil) throws(CacheError) {
    let cache = cache ?? self.cache
    let found: ModelValue? =
      switch live(key)?.value {
      case .text: try cache.value(String.self, forKey: key).map { .text($0) }
      case .data: try cache.value(Data.self, forKey: key).map { .data($0) }
      case .object: try object(key, in: cache)
      case .number, nil: try cache.value(Int.self, forKey: key).map { .number($0) }
      }
    use(key)
    do { try compare(found, key) } catch { throw CacheError(.storageFailed, "\(error)") }
  }

  private func object(_ key: String, in cache: LMDBCache) throws(CacheError) -> ModelValue? {
    let object = random.below(2) == 0 ? try cache.object(forKey: key) : try cache.withoutMemory.object(forKey: key)
    guard let object else { return nil }
    guard let array = object as? NSArray else { throw CacheError(.storageFailed, "\(object) is no array") }
    return .object(array.map { String(describing: $0) })
  }

  private func getBytes(_ key: String, in cache: LMDBCache) throws(CacheError) {
    let count: Int?
    do { count = try cache.withBytes(forKey: key) { $0.byteCount } } catch { throw error as! CacheError }
    use(key)
    guard let expected = live(key) else {
      if count != nil { throw CacheError(.storageFailed, "\(key.prefix(8)): bytes, and there should be none") }
      return
    }
    if count == nil ? !mayHaveEvicted : expected.value.size.map({ $0 != count }) ?? false {
      throw CacheError(.storageFailed, "\(key.prefix(8)): \(count ?? -1) bytes of \(expected)")
    }
  }

  /// The time may precede an earlier use: a new process does not know that the wall clock was ahead.
  func use(_ key: String) {
    guard let used = entries[ModelKey(key)]?.used else { return }
    entries[ModelKey(key)]?.used = max(used, time.now)
  }

  func load() throws {
    let (key, cache) = (key(), either)
    note("load", String(key.prefix(8)))
    let expected = live(key)
    let number = random.below(1 << 40)
    switch expected?.value {
    case nil, .number?:
      let found = try cache.value(Int.self, forKey: key) { _ in number }
      use(key)
      if case .number(let there)? = expected?.value, found == there { return }
      guard found == number, expected == nil || mayHaveEvicted else {
        throw ModelMismatch("loaded \(found) under \(key.prefix(8)), not \(String(describing: expected))")
      }
      put(key, .number(number), nil, nil)
    default:
      // Has another type, if it exists.
      break
    }
  }

  func remove() throws {
    let (key, cache) = (key(), either)
    note("remove", String(key.prefix(8)))
    switch random.below(4) {
    case 0: try cache.withoutMemory.removeValue(forKey: key)
    case 1: try cache.removeObject(forKey: key)
    default: try cache.removeValue(forKey: key)
    }
    entries[ModelKey(key)] = nil
  }
}
