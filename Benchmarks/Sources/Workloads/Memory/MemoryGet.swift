import Reporting

/// Reads of present keys and missing keys, and nine reads to one write. The sum of the values verifies every round.
enum MemoryGet {
  static func random(keys count: Int) -> Workload {
    Workload("memory.get.random", Parameters(keys: count)) { setting in
      let keys = requests(count, setting, from: 0)
      let values = (0..<count).map(Payload.init)
      let sums = keys.numbers.map { $0.reduce(0, +) }
      func trials<S: MemorySubject>(_ type: S.Type, threads: [Int] = [1, 2]) throws -> [Trial] {
        let keys = keys.keys(for: type)
        return try Self.trials(filled(type, values, setting), threads, keys[0].count) { subject, thread in
          try expect(sum(subject, keys[thread]), sums[thread], type)
        }
      }
      return try trials(OwnMemoryCache.self) + trials(OwnCache<Int>.self)
        + (count == 200_000 || setting.scale == .check ? trials(OwnCache<Profile>.self, threads: [1]) : [])
        + trials(BareDictionary.self, threads: [1]) + trials(LockedDictionary.self) + trials(FoundationCache.self)
    }
  }

  /// Like a program that needs 64 values at once.
  static func many(keys count: Int) -> Workload {
    Workload("memory.get.many64", Parameters(keys: count)) { setting in
      let keys = requests(count, setting, from: 0)
      let values = (0..<count).map(Payload.init)
      let sum = keys.numbers[0].reduce(0, +)
      func trials<S: MemorySubject>(_ type: S.Type) throws -> [Trial] {
        let all = keys.keys(for: type)[0]
        let groups = stride(from: 0, to: all.count, by: 64).map { Array(all[$0..<min($0 + 64, all.count)]) }
        return try Self.trials(filled(type, values, setting), [1], all.count) { subject, _ in
          try expect(sumOfGroups(subject, groups), sum, type)
        }
      }
      return try trials(OwnMemoryCache.self) + trials(OwnCache<Int>.self) + trials(BareDictionary.self)
        + trials(LockedDictionary.self) + trials(FoundationCache.self)
    }
  }

  static func missing(keys count: Int) -> Workload {
    Workload("memory.get.missing", Parameters(keys: count)) { setting in
      let keys = requests(count, setting, from: count)
      let values = (0..<count).map(Payload.init)
      func trials<S: MemorySubject>(_ type: S.Type, threads: [Int] = [1, 2]) throws -> [Trial] {
        let keys = keys.keys(for: type)
        return try Self.trials(filled(type, values, setting), threads, keys[0].count) { subject, thread in
          try expect(misses(subject, keys[thread]), keys[thread].count, type)
        }
      }
      // LMDBCache looks for missing values on the disk: see disk.get.missing.
      return try trials(OwnMemoryCache.self) + trials(BareDictionary.self, threads: [1])
        + trials(LockedDictionary.self) + trials(FoundationCache.self)
    }
  }

  static func mixed(keys count: Int) -> Workload {
    Workload("memory.mixed", Parameters(keys: count)) { setting in
      let keys = requests(count, setting, from: 0)
      let values = (0..<count).map(Payload.init)
      let replacements = keys.numbers.map { $0.map { values[$0] } }
      let sums = keys.numbers.map { $0.enumerated().reduce(0) { $1.offset % 10 == 0 ? $0 : $0 + $1.element } }
      func trials<S: MemorySubject>(_ type: S.Type, threads: [Int] = [1, 2]) throws -> [Trial] {
        let keys = keys.keys(for: type)
        return try Self.trials(filled(type, values, setting), threads, keys[0].count) { subject, thread in
          var subject = subject
          try expect(readAndWrite(&subject, keys[thread], replacements[thread]), sums[thread], type)
        }
      }
      // LMDBCache also writes to the disk: see disk.replace.
      return try trials(OwnMemoryCache.self) + trials(LockedDictionary.self) + trials(FoundationCache.self)
    }
  }

  // MARK: Parts

  private static func requests(_ count: Int, _ setting: Setting, from first: Int) -> RequestKeys {
    let requests = setting.pick(check: 10_000, quick: min(max(count, 100_000), 300_000), full: max(count, 200_000))
    return RequestKeys(threads: 2, count: requests) { _, _, random in
      first + Int.random(in: 0..<count, using: &random)
    }
  }

  private static func filled<S: MemorySubject>(
    _ type: S.Type, _ values: [Payload], _ setting: Setting
  ) throws -> S {
    var subject = try S(capacity: nil, setting)
    for value in values { try subject.set(value, forKey: S.key(RequestKeys.text(value.number))) }
    return subject
  }

  private static func trials<S: MemorySubject>(
    _ subject: S, _ threads: [Int], _ operations: Int, _ body: @escaping @Sendable (S, Int) throws -> Void
  ) -> [Trial] {
    threads.map { count in
      Trial(
        S.name, threads: count, operations: operations,
        finish: { if count == threads.last { try subject.finish() } },
        body: { try onThreads(count) { try body(subject, $0) } })
    }
  }

  private static func expect<S>(_ found: Int, _ expected: Int, _ type: S.Type) throws where S: MemorySubject {
    guard found == expected else { throw WorkloadError("\(S.name) gave other values than it was given.") }
  }

  // Not inlined, so that the optimizer cannot predict the values.

  @inline(never)
  private static func sum<S: MemorySubject>(_ subject: S, _ keys: [S.Key]) throws -> Int {
    var sum = 0
    for key in keys { sum &+= try subject.number(forKey: key) ?? .min }
    return sum
  }

  @inline(never)
  private static func sumOfGroups<S: MemorySubject>(_ subject: S, _ groups: [[S.Key]]) throws -> Int {
    var sum = 0
    for keys in groups { sum &+= try subject.sum(forKeys: keys) }
    return sum
  }

  @inline(never)
  private static func misses<S: MemorySubject>(_ subject: S, _ keys: [S.Key]) throws -> Int {
    var misses = 0
    for key in keys where try subject.number(forKey: key) == nil { misses &+= 1 }
    return misses
  }

  @inline(never)
  private static func readAndWrite<S: MemorySubject>(
    _ subject: inout S, _ keys: [S.Key], _ values: [Payload]
  ) throws -> Int {
    var sum = 0
    for (request, key) in keys.enumerated() {
      if request % 10 == 0 {
        try subject.set(values[request], forKey: key)
      } else {
        sum &+= try subject.number(forKey: key) ?? .min
      }
    }
    return sum
  }
}
