import LMDBCaching
import TestSupport

/// Reads the keys of all writers and remembers the newest value of each.
struct KillReader {
  private let cache: LMDBCache
  private var random: SeededRandom
  private var keys: [String] = []
  private var seen: [String: [Int: Int]] = [:]
  private(set) var reads = 0
  /// In nanoseconds.
  private(set) var longest: Int64 = 0

  private static let timeLimit: Int64 = 5_000_000_000

  init(_ cache: LMDBCache, _ seed: UInt64) {
    self.cache = cache
    random = SeededRandom(seed)
  }

  mutating func step() throws {
    let start = CacheClock.system.monotonic
    if reads % 200 == 0 {
      keys = try cache.entries().map(\.key)
      if keys.isEmpty { keys = (0..<KillOperation.sharedKeys).map(KillOperation.sharedKey) }
    } else {
      let key = keys.randomElement(using: &random)!
      switch random.below(12) {
      case 0: try readPair(key)
      case 1:
        // The first byte is the format's; the text is the span itself.
        let text = try cache.withBytes(forKey: key) { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
        check(text, key)
      case 2: check(try cache.withoutMemory.value(String.self, forKey: key), key)
      default: check(try cache.value(String.self, forKey: key), key)
      }
    }
    reads += 1
    let duration = CacheClock.system.monotonic - start
    longest = max(longest, duration)
    if duration > Self.timeLimit { KillReaderRole.answer("stuck for \(duration / 1_000_000) ms") }
  }

  private mutating func check(_ text: String?, _ key: String) {
    guard let text else { return }
    guard let value = KillValue(text, key: key) else {
      return KillReaderRole.answer("wrong under \(key): \(text.prefix(60))")
    }
    let before = seen[key]?[value.writer] ?? -1
    if value.number < before { KillReaderRole.answer("backwards under \(key): \(value.number) after \(before)") }
    seen[key, default: [:]][value.writer] = max(before, value.number)
  }

  private mutating func readPair(_ key: String) throws {
    guard let slash = key.firstIndex(of: "/"), key.hasPrefix("w") else { return }
    let pair = [0, 1].map { "\(key[...slash])pair/\($0)" }
    let values = try cache.read { snapshot in
      try pair.map { key in try snapshot.value(String.self, forKey: key).map { KillValue($0, key: key) } }
    }
    // Both or neither: no limit evicts entries here.
    if values[0] != values[1] {
      KillReaderRole.answer("half a batch: \(String(describing: values[0])) and \(String(describing: values[1]))")
    }
  }
}
