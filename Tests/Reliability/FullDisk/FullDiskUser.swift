import Foundation
import LMDBCaching
import Logging

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Uses a cache on a disk that fills up: one command a line, one answer each.
struct FullDiskUser: TrialRole {
  static let name = "full-disk-user"

  private static let inlineThreshold = 8_000

  private var cache: LMDBCache?
  private let clock = ManualClock()

  static func run(_ arguments: [String]) throws {
    signal(SIGXFSZ, SIG_IGN)
    var user = FullDiskUser()
    while let line = readLine() {
      do {
        answer(try user.run(line.split(separator: " ")))
      } catch {
        answer("error \((error as? CacheError).map { "\($0.code)" } ?? "\(error)")")
      }
    }
  }

  /// The value of the `number`-th write; some are long enough for the value log.
  static func value(_ number: Int) -> Data {
    let size = [60, 400, 3_000, 7_000, 30_000, 90_000][number % 6]
    return Data("\(number);".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
  }

  private mutating func run(_ words: [Substring]) throws -> String {
    func number(_ index: Int) -> Int { Int(words[index])! }
    func opened() throws -> LMDBCache {
      guard let cache else { throw CacheError(.closed, "open comes first") }
      return cache
    }
    switch words[0] {
    case "open":
      var configuration = CacheConfiguration()
      configuration.durability = Durability(rawValue: UInt8(number(2)))!
      configuration.disk.inlineThreshold = Self.inlineThreshold
      configuration.disk.valueSegmentSize = 256 << 10
      configuration.disk.journalSize = 128 << 10
      configuration.disk.groupCommitInterval = .milliseconds(1)
      configuration.clock = .manual(clock)
      configuration.logger = Logger(label: "full-disk", factory: { _ in SwiftLogNoOpLogHandler() })
      cache = try LMDBCache(directory: URL(fileURLWithPath: String(words[1])), configuration: configuration)
    case "set": try opened().set(Self.value(number(2)), forKey: "key\(words[1])")
    case "get":
      guard let data = try opened().value(Data.self, forKey: "key\(words[1])") else { return "nil" }
      let stored = Int(String(decoding: data.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)) ?? -1
      return stored >= 0 && data == Self.value(stored) ? "\(stored)" : "wrong"
    case "remove": try opened().removeValue(forKey: "key\(words[1])")
    case "clear": try opened().removeAll()
    case "batch":
      try opened().write { batch in
        batch.set(Self.value(number(3)), forKey: "key\(words[1])")
        batch.set(Self.value(number(3)), forKey: "key\(words[2])")
      }
    case "flush": try opened().flush()
    case "trim": try opened().trim(to: .count(number(1)))
    case "upkeep":
      try opened().sweepValues()
      try opened().giveBackSpace()
    case "forget": try opened().memory.removeAll()
    case "count":
      let (entries, count) = (try opened().entries().count, try opened().count)
      return entries == count ? "\(count)" : "wrong: \(entries) entries, \(count) counted"
    case "reopenings": return "\(try opened().statistics.reopenings)"
    case "health":
      switch try opened().health {
      case .healthy: return "healthy"
      case .memoryOnly(let error): return "memory-only \(error.code)"
      case .closed: return "closed"
      }
    case "advance": clock.advance(by: .seconds(number(1)))
    case "limit":
      var limit = rlimit()
      getrlimit(Self.fileSize, &limit)
      limit.rlim_cur = number(1) == 0 ? limit.rlim_max : rlim_t(number(1))
      if setrlimit(Self.fileSize, &limit) != 0 { return "error setrlimit \(errno)" }
    case "close":
      let closing = try opened()
      cache = nil
      try closing.close()
    default: return "error unknown command"
    }
    return "ok"
  }

  #if canImport(Glibc)
    private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
    private static let fileSize = RLIMIT_FSIZE
  #endif
}
