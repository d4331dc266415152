import EFStorageLMDBCache
import Foundation
import LMDBCaching
import Reporting
import Synchronization

/// Properties in the cache, compared with properties in a mutex and with user defaults.
enum WrapperWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let gets = setting.pick(check: 1000, quick: 1_000_000, full: 2_000_000)
    let sets = setting.pick(check: 1000, quick: 50_000, full: 100_000)
    return [getNumber(gets), getText(gets), setNumber(sets)]
  }

  // MARK: Get

  private static func getNumber(_ count: Int) -> Workload {
    Workload("wrapper.get", Parameters(content: "Int")) { setting in
      let (kept, close) = try keptProperties(setting)
      let (other, closeOther) = try keptProperties(setting)
      let locked = LockedProperties()
      let defaults = try Defaults()
      return [
        Trial("@EFStorageLMDBCache", operations: count) { readNumbers(kept, count) },
        Trial("@EFStorageLMDBCache", threads: 2, operations: count, finish: close) {
          try onThreads(2) { _ in readNumbers(kept, count) }
        },
        // The machine's own scaling with two independent threads.
        Trial("@EFStorageLMDBCache, one each", threads: 2, operations: count, finish: closeOther) {
          try onThreads(2) { readNumbers($0 == 0 ? kept : other, count) }
        },
        Trial("A property in a Mutex", operations: count) { readNumbers(locked, count) },
        Trial("A property in a Mutex", threads: 2, operations: count) {
          try onThreads(2) { _ in readNumbers(locked, count) }
        },
        Trial("UserDefaults", operations: max(1, count / 100), finish: defaults.remove) {
          try defaults.readNumbers(max(1, count / 100))
        },
      ]
    }
  }

  private static func getText(_ count: Int) -> Workload {
    Workload("wrapper.get", Parameters(content: "String")) { setting in
      let (kept, close) = try keptProperties(setting)
      let locked = LockedProperties()
      let defaults = try Defaults()
      return [
        Trial("@EFStorageLMDBCache", operations: count, finish: close) { readTexts(kept, count) },
        Trial("A property in a Mutex", operations: count) { readTexts(locked, count) },
        Trial("UserDefaults", operations: max(1, count / 100), finish: defaults.remove) {
          try defaults.readTexts(max(1, count / 100))
        },
      ]
    }
  }

  // MARK: Set

  private static func setNumber(_ count: Int) -> Workload {
    Workload("wrapper.set", Parameters(content: "Int")) { setting in
      let directory = try setting.directory()
      let cache = try LMDBCache(directory: directory)
      let kept = KeptProperties(cache)
      let locked = LockedProperties()
      let defaults = try Defaults()
      func flush() throws -> [String: Double] {
        try cache.flush()
        return [:]
      }
      return [
        Trial(
          "@EFStorageLMDBCache", operations: count, verify: { try expect(kept.number, count) }, after: flush,
          body: { write(kept, count) }),
        Trial(
          "LMDBCaching.LMDBCache.set", operations: count,
          verify: { try expect(cache.value(Int.self, forKey: "other"), count) }, after: flush,
          finish: {
            try cache.close()
            try setting.remove(directory)
          },
          body: { for number in 1...count { try cache.set(number, forKey: "other") } }),
        Trial(
          "A property in a Mutex", operations: count, verify: { try expect(locked.number.withLock { $0 }, count) },
          body: { write(locked, count) }),
        Trial(
          "UserDefaults", operations: max(1, count / 50), verify: { try defaults.readNumbers(1) },
          finish: defaults.remove, body: { defaults.write(max(1, count / 50)) }),
      ]
    }
  }

  // MARK: Parts

  private static func expect(_ number: Int?, _ expected: Int) throws {
    guard number == expected else {
      throw WorkloadError("A property is \(number.map(String.init) ?? "gone"), and was set to \(expected).")
    }
  }

  private static func keptProperties(_ setting: Setting) throws -> (KeptProperties, close: () throws -> Void) {
    let directory = try setting.directory()
    let cache = try LMDBCache(directory: directory)
    return (
      KeptProperties(cache),
      {
        try cache.close()
        try setting.remove(directory)
      }
    )
  }

  // Not inlined, so that each loop really reads every time.

  @inline(never)
  private static func readNumbers(_ kept: KeptProperties, _ count: Int) {
    var sum = 0
    for _ in 0..<count { sum &+= kept.number }
    precondition(sum != 0)
  }

  @inline(never)
  private static func readNumbers(_ locked: LockedProperties, _ count: Int) {
    var sum = 0
    for _ in 0..<count { sum &+= locked.number.withLock { $0 } }
    precondition(sum != 0)
  }

  @inline(never)
  private static func readTexts(_ kept: KeptProperties, _ count: Int) {
    var sum = 0
    for _ in 0..<count { sum &+= kept.text.utf8.count }
    precondition(sum == count * LockedProperties.text.utf8.count)
  }

  @inline(never)
  private static func readTexts(_ locked: LockedProperties, _ count: Int) {
    var sum = 0
    for _ in 0..<count { sum &+= locked.text.withLock { $0 }.utf8.count }
    precondition(sum == count * LockedProperties.text.utf8.count)
  }

  @inline(never)
  private static func write(_ kept: KeptProperties, _ count: Int) {
    for number in 1...count { kept.number = number }
  }

  @inline(never)
  private static func write(_ locked: LockedProperties, _ count: Int) {
    for number in 1...count { locked.number.withLock { $0 = number } }
  }
}
