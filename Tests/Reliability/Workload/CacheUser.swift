import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Another process that uses a cache: one command a line, one answer each.
struct CacheUser: TrialRole {
  static let name = "cache-user"

  private var cache: LMDBCache?
  private let clock = ManualClock()

  static func run(_ arguments: [String]) throws {
    signal(SIGXFSZ, SIG_IGN)
    var user = CacheUser()
    while let line = readLine() {
      do {
        answer(try user.run(line.split(separator: " ").map(String.init)))
      } catch {
        answer("error \((error as? CacheError).map { "\($0.code)" } ?? "\(error)")")
      }
    }
  }

  private mutating func run(_ words: [String]) throws -> String {
    func number(_ index: Int) -> Int { Int(words[index])! }
    func value(_ key: String) -> String { WrittenValue(number: number(1)).text(key: key, size: number(2)) }
    if words[0] == "limit" {
      var limit = rlimit()
      getrlimit(Self.fileSize, &limit)
      limit.rlim_cur = number(1) == 0 ? limit.rlim_max : rlim_t(number(1))
      return setrlimit(Self.fileSize, &limit) == 0 ? "ok" : "error setrlimit \(errno)"
    }
    if words[0] == "open" { try open(words) }
    guard let cache else { throw CacheError(.closed, "open comes first") }
    switch words[0] {
    case "open": break
    case "get": return try Self.number(words[1], in: cache).map { "\($0)" } ?? "nil"
    // set NUMBER SIZE KEY…
    case "set" where words.count == 4: try cache.set(value(words[3]), forKey: words[3])
    case "set": try cache.write { batch in for key in words[3...] { batch.set(value(key), forKey: key) } }
    // burst FIRST COUNT PREFIX
    case "burst":
      for index in number(1)..<number(1) + number(2) {
        let key = words[3] + "\(index)"
        try cache.set(WrittenValue(number: index).text(key: key, size: 20), forKey: key)
      }
    case "remove": try cache.removeValue(forKey: words[1])
    case "clear": try cache.removeAll()
    case "flush": try cache.flush()
    case "trim": try cache.trim(to: .count(number(1)))
    case "upkeep":
      try cache.sweepValues()
      try cache.giveBackSpace()
    case "forget": cache.memory.removeAll()
    case "count":
      let (entries, count) = (try cache.entries().count, try cache.count)
      return entries == count ? "\(count)" : "wrong: \(entries) entries, \(count) counted"
    // Holds a snapshot until the next line.
    case "hold":
      let keys = (0..<50).map { "\($0)" }
      return try cache.read { snapshot in
        let before = try keys.map { try snapshot.value(String.self, forKey: $0) }
        Self.answer("held")
        _ = readLine()
        return try keys.map { try snapshot.value(String.self, forKey: $0) } == before ? "same" : "changed"
      }
    case "health":
      if case .memoryOnly(let error) = cache.health { return "memory-only \(error.code)" }
      return cache.health.isHealthy ? "healthy" : "closed"
    case "advance": clock.advance(by: .seconds(number(1)))
    case "close":
      self.cache = nil
      try cache.close()
    default: return "error unknown command"
    }
    return "ok"
  }

  /// open DIRECTORY DURABILITY [small]: with small files and a clock that stands still.
  private mutating func open(_ words: [String]) throws {
    cache = try TrialCache.open(words[1]) {
      $0.durability = Durability(rawValue: UInt8(words[2])!)!
      $0.disk.groupCommitInterval = .milliseconds(1)
      if words.count == 3 { return }
      $0.disk.inlineThreshold = 8_000
      $0.disk.valueSegmentSize = 256 << 10
      $0.disk.journalSize = 128 << 10
      $0.clock = .manual(clock)
    }
  }

  /// The number of the write whose value is under the key.
  static func number(_ key: String, in cache: LMDBCache) throws -> Int? {
    guard let text = try cache.value(String.self, forKey: key) else { return nil }
    guard let value = WrittenValue(text, key: key) else { throw CacheError(.storageFailed, "\(key) has another value") }
    return value.number
  }

  #if canImport(Glibc)
    private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
    private static let fileSize = RLIMIT_FSIZE
  #endif
}
