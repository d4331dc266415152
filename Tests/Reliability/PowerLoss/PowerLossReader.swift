import Platform
import Foundation
import LMDBCaching
import Logging
import TestSupport

/// Opens the leftovers of a power cut, one directory for each input line `DIRECTORY SEED DURABILITY BOOT`. Prints
/// `discarded N` (such warnings), `entry INDEX WRITE`, `wrong …` for faults, and `end`.
struct PowerLossReader: TrialRole {
  static let name = "power-loss-reader"

  static func run(_ arguments: [String]) throws {
    while let line = readLine() {
      let words = line.split(separator: " ")
      BootIdentifier.simulate(boot: UInt64(words[3])!)
      let entries = PowerLossEntries(seed: UInt64(words[1])!)
      do {
        try check(String(words[0]), entries, Durability(rawValue: UInt8(words[2])!)!)
      } catch {
        answer("wrong \(error)")
      }
      answer("end")
    }
  }

  private static func check(_ directory: String, _ entries: PowerLossEntries, _ durability: Durability) throws {
    let warnings = Guarded<[String]>([])
    var configuration = PowerLossWriter.configuration(entries, durability, interval: 1)
    configuration.logger = Logger(label: "power-loss", factory: { _ in WarningLog(messages: warnings) })
    let url = URL(fileURLWithPath: directory)
    let cache = try LMDBCache(directory: url, configuration: configuration.withoutMemory)
    let found = try read(cache, entries)
    for (index, number) in found.sorted(by: { $0.key < $1.key }) { answer("entry \(index) \(number)") }

    // Every segment has an entry, and every entry its value.
    try cache.sweepValues()
    for fault in try cache.valueLogFaults() { answer("wrong \(fault)") }
    if try read(cache, entries) != found { answer("wrong a sweep changes it") }
    let known = [
      "cache", "data.mdb", "lock.mdb", "processes.lock", "journals", "values", "fast-session", "clean-exit",
      "statistics",
    ]
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) where !known.contains(name) {
      answer("wrong \(name) is left behind")
    }

    // It must keep working, and have the same contents after it is reopened.
    let (probe, large) = (Data("probe".utf8), Data(repeating: 7, count: 60_000))
    try cache.set(probe, forKey: "probe")
    try cache.set(large, forKey: "large probe")
    try cache.flush()
    try cache.close()
    // Warnings have arrived by now.
    answer("discarded \(warnings.current.count { $0.contains("discarded") })")
    let again = try LMDBCache(directory: url, configuration: configuration.withoutMemory)
    if try again.value(Data.self, forKey: "probe") != probe || again.value(Data.self, forKey: "large probe") != large {
      answer("wrong what was written after it is lost")
    }
    try again.removeValue(forKey: "probe")
    try again.removeValue(forKey: "large probe")
    try again.flush()
    if try read(again, entries) != found { answer("wrong it changes when it is opened again") }
    try again.close()
  }

  private static func read(_ cache: LMDBCache, _ entries: PowerLossEntries) throws -> [Int: Int] {
    var found: [Int: Int] = [:]
    let listed = try cache.entries()
    for entry in listed {
      guard let index = PowerLossEntries.indices[entry.key] else {
        answer("wrong the key \(entry.key.prefix(40)) was never written")
        continue
      }
      guard let value = try cache.value(Data.self, forKey: entry.key) else {
        answer("wrong the key \(index) is listed and has no value")
        continue
      }
      guard let number = entries.number(of: value, index) else {
        answer("wrong the value under the key \(index) was never written")
        continue
      }
      found[index] = number
    }
    if try cache.count != listed.count {
      answer("try wrong \(try cache.count) entries are counted, \(listed.count) listed")
    }
    let cost = listed.reduce(0) { $0 + $1.cost }
    if try cache.totalCost != cost { answer("wrong the cost is try counted as \(try cache.totalCost), and is \(cost)") }
    for index in 0..<PowerLossEntries.keyCount
    where try cache.contains(PowerLossEntries.key(index)) != (found[index] != nil) {
      answer("wrong the key \(index) is there for one and not for another")
    }
    if !cache.health.isHealthy { answer("wrong \(cache.health)") }
    return found
  }
}
