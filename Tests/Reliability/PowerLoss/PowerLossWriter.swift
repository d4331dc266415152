import Platform
import Foundation
import LMDBCaching
import Logging
import TestSupport
import WriteLog

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Changes a cache while its writes are logged, and exits without closing it.
///
/// Arguments: the parent of the cache's directory, the log, the seed of the entries, the seed of the changes, the
/// number of the first change, the durability, the number of changes, the number of the boot.
struct PowerLossWriter: TrialRole {
  static let name = "power-loss-writer"

  private let root: String
  private let entries: PowerLossEntries
  private let configuration: CacheConfiguration
  private var random: SeededRandom
  private var cache: LMDBCache?
  /// The journals' pages as last logged.
  private var journals: [String: [UInt8]] = [:]

  static func run(_ arguments: [String]) throws {
    let numbers = arguments.dropFirst(2).map { UInt64($0)! }
    let status = write_log_begin(arguments[0], arguments[1])
    if status != 0 { throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EIO) }
    BootIdentifier.simulate(boot: numbers[5])
    var writer = PowerLossWriter(
      root: arguments[0], entrySeed: numbers[0], seed: numbers[1], durability: Durability(rawValue: UInt8(numbers[3]))!)
    do {
      try writer.write(Int(numbers[2]), count: Int(numbers[4]))
    } catch {
      write_log_mark("failed \(error)")
      answer("\(error)")
    }
    // Exit without closing: the power fails before that.
    _exit(0)
  }

  private init(root: String, entrySeed: UInt64, seed: UInt64, durability: Durability) {
    self.root = root
    entries = PowerLossEntries(seed: entrySeed)
    random = SeededRandom(seed)
    configuration = Self.configuration(entries, durability, interval: [0, 1, 5, 50][random.below(4)])
  }

  static func configuration(
    _ entries: PowerLossEntries, _ durability: Durability, interval: Int
  ) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.durability = durability
    configuration.disk.inlineThreshold = entries.inlineThreshold
    configuration.disk.journalSize = 64 << 10
    // Some segments hold several values, some just one.
    configuration.disk.valueSegmentSize = 96 << 10
    configuration.disk.mapSize = 1 << 20
    configuration.disk.groupCommitInterval = .milliseconds(interval)
    configuration.logger = Logger(label: "power-loss", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  private mutating func write(_ first: Int, count: Int) throws {
    cache = try LMDBCache(directory: URL(fileURLWithPath: root + "/cache"), configuration: configuration.withoutMemory)
    write_log_mark("opened \(try state())")
    for number in first..<first + count {
      let change = nextChange()
      write_log_mark("begin \(number) \(change.text)")
      try make(change, number)
      logJournals()
      write_log_mark("end \(number) \(cache!.isCommitted ? 1 : 0)")
      // Some group commits fall between two changes, others hold several.
      let cache = cache!
      if random.below(12) == 0, !eventually({ cache.isCommitted }) { write_log_mark("failed nothing was committed") }
    }
  }

  private mutating func nextChange() -> PowerLossChange {
    let index = random.below(PowerLossEntries.keyCount)
    switch random.below(100) {
    case 0..<60: return .set(index)
    case 60, 61: return .upkeep
    case 62..<74: return .remove(index)
    case 74..<84:
      var (set, removed): ([Int], [Int]) = ([], [])
      for _ in 0..<2 + random.below(6) {
        let index = random.below(PowerLossEntries.keyCount)
        if set.contains(index) || removed.contains(index) { continue }
        if random.below(4) == 0 { removed.append(index) } else { set.append(index) }
      }
      return .batch(set: set, removed: removed)
    case 84: return .removeAll
    case 85, 86: return .removePrefix
    case 87, 88: return .trim(PowerLossEntries.keyCount / 4 + random.below(PowerLossEntries.keyCount / 2))
    case 89..<96: return .flush
    case 96, 97: return .reopen
    case 98: return .upkeep
    default: return .set(index)
    }
  }

  private mutating func make(_ change: PowerLossChange, _ number: Int) throws {
    let cache = cache!
    switch change {
    case .set(let index): try cache.set(entries.value(index, number), forKey: PowerLossEntries.key(index))
    case .remove(let index): try cache.removeValue(forKey: PowerLossEntries.key(index))
    case .batch(let set, let removed):
      try cache.write(waitsForCommit: number % 2 == 0) { batch in
        for index in set { batch.set(entries.value(index, number), forKey: PowerLossEntries.key(index)) }
        for index in removed { batch.removeValue(forKey: PowerLossEntries.key(index)) }
      }
    case .removeAll: try cache.removeAll()
    case .removePrefix: try cache.removeAll(.prefix(PowerLossChange.prefix))
    case .trim(let count): try cache.trim(to: .count(count))
    case .flush: try cache.flush()
    case .upkeep:
      try cache.sweepValues()
      try cache.giveBackSpace()
    case .reopen:
      try cache.close()
      write_log_mark("closed \(number)")
      self.cache = try LMDBCache(
        directory: URL(fileURLWithPath: root + "/cache"), configuration: configuration.withoutMemory)
    }
  }

  private func state() throws -> String {
    try cache!.entries().map { entry in
      let index = PowerLossEntries.indices[entry.key] ?? -1
      let value = try cache!.value(Data.self, forKey: entry.key)
      return "\(index)=\(value.flatMap { entries.number(of: $0, index) } ?? -1)"
    }.joined(separator: " ")
  }

  /// Stores through a memory map bypass every logged call.
  private mutating func logJournals() {
    let folder = root + "/cache/journals"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
      let contents = [UInt8](data)
      let number = (try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.systemFileNumber])
        .flatMap { ($0 as? NSNumber)?.uint64Value }
      guard let number else { continue }
      let old = journals[name] ?? [UInt8](repeating: 0, count: contents.count)
      for start in stride(from: 0, to: contents.count, by: 4096) {
        let page = start..<min(start + 4096, contents.count)
        contents.withUnsafeBytes { contents in
          let page = UnsafeRawBufferPointer(rebasing: contents[page])
          let isUnchanged =
            old.count == contents.count
            && old.withUnsafeBytes { memcmp($0.baseAddress! + start, page.baseAddress!, page.count) == 0 }
          if !isUnchanged { write_log_mapped(number, UInt64(start), page.baseAddress, page.count) }
        }
      }
      journals[name] = contents
    }
  }
}
