import Dispatch
import Foundation
import LMDB
import LMDBCaching
import TestSupport
import Testing

@testable import CacheModel

/// Threads and tasks use three caches of one directory at once, in turns during which the clock stands still. Each of
/// them checks a promise that holds in every order: a history of the model gets its oracle's answers, no addition is
/// lost, a batch is seen whole, and no read is older than a write that has returned.
final class CacheStorm: Sendable {
  /// One directory's caches: with a memory tier, without, and a second one with.
  struct Caches: Sendable {
    let cache: LMDBCache
    let disk: LMDBCache
    let other: LMDBCache

    func choice(_ random: inout SeededRandom) -> LMDBCache { [cache, disk, other][random.below(3)] }

    func close() throws {
      for cache in [disk, other, cache] { try cache.close() }
    }
  }

  private static let counters = (0..<3).map { "counter\($0)" }
  private static let group = (0..<5).map { "group\($0)" }
  private static let sources = (0..<3).map { "source\($0)" }
  private static let watched = (0..<6).map { "watched\($0)" }
  private static let tag = "shared"

  private let seed: UInt64
  private let directory = CacheDirectory()
  private let configuration: ModelConfiguration
  private let clock = ManualClock()
  private let time: CacheClock
  private let histories: [StormHistory]
  private let sums = Guarded([Int](repeating: 0, count: CacheStorm.counters.count))
  /// The numbers that went into the box, and those that came out.
  private let box = Guarded((put: [Int](), taken: [Int]()))
  /// The number of the last batch that has returned.
  private let batch = Guarded(0)
  /// The source of each load, which is changed before the write that follows it, and the last write that has returned.
  private let source = Guarded([Int](repeating: 0, count: CacheStorm.sources.count))
  private let written = Guarded([Int](repeating: 0, count: CacheStorm.sources.count))

  init(seed: UInt64) {
    self.seed = seed
    // These seeds have neither limits nor failures.
    let configuration = ModelConfiguration(seed: 4 * seed)
    self.configuration = configuration
    time = .manual(clock)
    histories = (0..<StormHistory.count).map {
      StormHistory(seed: seed, part: $0, count: 400, isTransforming: !configuration.transforms.isEmpty)
    }
  }

  private func openOne(hasMemory: Bool = true, isVerified: Bool = false) throws -> LMDBCache {
    var configuration = configuration.make(time)
    if seed % 3 == 1 { configuration.disk.groupCommitInterval = .zero }
    if isVerified { configuration.disk.verification = .always }
    return try LMDBCache(
      directory: directory.url, configuration: hasMemory ? configuration : configuration.withoutMemory)
  }

  private func open(isVerified: Bool = false) throws -> Caches {
    for history in histories { history.noteOpening() }
    return try Caches(
      cache: openOne(isVerified: isVerified), disk: openOne(hasMemory: false), other: openOne())
  }

  private func performers(_ caches: Caches) -> [ModelActor: ModelPerformer] {
    [ModelActor.cache: caches.cache, .disk: caches.disk, .other: caches.other].mapValues {
      ModelPerformer($0, time, configuration)
    }
  }

  private var moment: ModelState.Time { ModelState.Time(now: time.now, monotonic: clock.monotonic) }

  // MARK: Turns

  func run(turns: Int) async throws {
    var random = SeededRandom(seed)
    for turn in 0..<turns {
      let caches = try open()
      if turn == 0 {
        for key in Self.counters { try caches.cache.set(0, forKey: key, tags: [Self.tag]) }
      }
      try await storm(caches, turn)
      try compare(caches)
      try caches.close()
      clock.advance(by: .milliseconds(Int64(random.below(6_000))))
      // The oracle's precision is higher than the clock's.
      time.advance(toAtLeast: time.now)
    }
    let caches = try open(isVerified: true)
    try compare(caches)
    #expect(caches.cache.recovery == nil)
    try caches.close()
  }

  private func storm(_ caches: Caches, _ turn: Int) async throws {
    let threads = DispatchGroup()
    let number = Guarded(0)
    func thread(_ body: @escaping @Sendable (inout SeededRandom) throws -> Void) {
      let thread = number { (number: inout Int) -> Int in
        number += 1
        return number
      }
      inBackground(threads) { [seed] in
        var random = SeededRandom(seed &* 10_000 &+ UInt64(turn * 100 + thread))
        do { try body(&random) } catch { Issue.record("seed \(seed): \(error)") }
      }
    }
    let changes = caches.cache.changes(withPrefix: "watched", bufferingLimit: 64)
    for history in histories {
      thread { [self] _ in history.perform(90, by: performers(caches), at: moment) }
    }
    for adder in 0..<2 { thread { [self] in try add(caches, turn * 2 + adder, &$0) } }
    thread { [self] in try writeBatches(caches, &$0) }
    for _ in 0..<2 { thread { [self] in try readBatches(caches, &$0) } }
    thread { [self] in try writeSources(caches, &$0) }
    thread { [self] in try load(caches, &$0) }
    for _ in 0..<2 { thread { [self] in try writeWatched(caches, &$0) } }
    thread { [self] in try keepUp(caches, &$0) }
    await loadInTasks(caches, turn)
    await withCheckedContinuation { continuation in threads.notify(queue: .global()) { continuation.resume() } }
    try compare(changes, caches)
  }

  // MARK: Additions

  private func add(_ caches: Caches, _ adder: Int, _ random: inout SeededRandom) throws {
    for step in 0..<80 {
      let number = random.below(Self.counters.count)
      let key = Self.counters[number]
      let cache = caches.choice(&random)
      let floor = sums.current[number]
      switch random.below(5) {
      case 0: try cache.increment(forKey: key)
      case 1: try cache.update(Int.self, forKey: key) { $0 = ($0 ?? 0) + 1 }
      case 2:
        var isStored = false
        while !isStored {
          let version = try #require(try cache.entry(forKey: key)?.version)
          let value = try #require(try cache.value(Int.self, forKey: key))
          isStored = try cache.set(value + 1, forKey: key, tags: [Self.tag], if: .version(version))
        }
      case 3:
        let token = adder * 1_000 + step
        box { $0.put.append(token) }
        let old = try cache.exchange(token, forKey: "box")
        if let old { box { $0.taken.append(old) } }
        continue
      default:
        let old = try cache.removeValue(Int.self, forKey: "box")
        if let old { box { $0.taken.append(old) } }
        continue
      }
      sums { $0[number] += 1 }
      let onDisk = try #require(try caches.disk.value(Int.self, forKey: key))
      let found = try #require(try cache.value(Int.self, forKey: key))
      if onDisk <= floor || found < onDisk { Issue.record("\(key): \(found) after \(onDisk) after \(floor)") }
    }
  }

  // MARK: Batches

  /// Every byte follows from the number, and the size from its remainder.
  private static func content(_ number: Int) -> Data {
    Data.make(number, size: 8 + number % 300 * (number % 5 == 0 ? 30 : 1))
  }

  /// The number of the batch that stored the value; -1 for one that no batch stored.
  private static func number(of content: Data) -> Int {
    if content.count < 8 { return -1 }
    let number = content.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    return number >= 0 && content == Self.content(number) ? number : -1
  }

  private func writeBatches(_ caches: Caches, _ random: inout SeededRandom) throws {
    for _ in 0..<80 {
      let number = batch.current + 1
      let (removes, waits) = (random.below(3) == 0, random.below(10) == 0)
      let cache = caches.choice(&random)
      try cache.write(waitsForCommit: waits) { batch in
        if removes { batch.removeAll(.prefix("group")) }
        for key in Self.group { batch.set(Self.content(number), forKey: key, tags: removes ? [Self.tag] : []) }
      }
      let found = try cache.value(Data.self, forKey: Self.group[number % Self.group.count])
      #expect(found.map(Self.number) == number, "its own batch is not seen")
      batch { $0 = number }
    }
  }

  private func readBatches(_ caches: Caches, _ random: inout SeededRandom) throws {
    let reader = try #require(
      try CacheReader(directory: directory.url, valueTransforms: configuration.transforms, clock: time))
    for _ in 0..<120 {
      let floor = batch.current
      if floor == 0 { continue }
      let key = Self.group[random.below(Self.group.count)]
      switch random.below(5) {
      case 0:
        let found = try caches.choice(&random).read { snapshot in
          var found: Set<Int> = []
          for key in Self.group { found.insert(try snapshot.value(Data.self, forKey: key).map(Self.number) ?? -1) }
          return found
        }
        if found.count != 1 || found.min()! < floor {
          Issue.record("a snapshot has \(found), and \(floor) was written")
        }
      case 1:
        // A reader looks at the journals at intervals, so the first batch may be missing.
        try unlessBusy {
          let page = try reader.page(withPrefix: "group", limit: 100)
          let sizes = Set(page.entries.map(\.size))
          // A writer that is too fast makes the page partial.
          if sizes.count > 1 || page.next == nil && ![0, Self.group.count].contains(page.entries.count) {
            Issue.record("a reader sees \(page.entries.count) entries of \(sizes.count) batches")
          }
        }
      case 2:
        try unlessBusy {
          let value = try reader.value(Data.self, forKey: key)
          if let value, Self.number(of: value) < 0 { Issue.record("a reader sees a value that no batch stored") }
        }
      case 3:
        let values = try caches.choice(&random).values(Data.self, forKeys: Self.group)
        let found = values.map { $0.map(Self.number) ?? -1 }
        if found.min()! < floor { Issue.record("\(found) were read, and \(floor) was written") }
      default:
        let onDisk = try caches.disk.value(Data.self, forKey: key).map(Self.number) ?? -1
        let found = try caches.choice(&random).value(Data.self, forKey: key).map(Self.number) ?? -1
        if onDisk < floor || found < onDisk { Issue.record("\(found) was read after \(onDisk) after \(floor)") }
      }
    }
  }

  /// Other threads may commit faster than a reader can look.
  private func unlessBusy(_ look: () throws -> Void) throws {
    do { try look() } catch let error as CacheError where error.code == .busy {}
  }

  // MARK: Loads

  private func writeSources(_ caches: Caches, _ random: inout SeededRandom) throws {
    for _ in 0..<150 {
      let index = random.below(Self.sources.count)
      let key = Self.sources[index]
      let number = source { (numbers: inout [Int]) -> Int in
        numbers[index] += 1
        return numbers[index]
      }
      let cache = caches.choice(&random)
      switch random.below(5) {
      case 0, 1: try cache.set(number, forKey: key)
      case 2: try cache.removeValue(forKey: key)
      case 3: try cache.removeAll(.prefix(key))
      default: try cache.write { $0.removeValue(forKey: key) }
      }
      written { $0[index] = number }
    }
  }

  private func check(_ value: Int, _ index: Int, _ floor: Int) {
    let ceiling = source.current[index]
    if value < floor || value > ceiling {
      Issue.record("\(Self.sources[index]) is \(value), and \(floor) was written before, and \(ceiling) not yet after")
    }
  }

  private func load(_ caches: Caches, _ random: inout SeededRandom) throws {
    for _ in 0..<100 {
      let (index, pauses) = (random.below(Self.sources.count), random.below(20))
      let floor = written.current[index]
      let value = try caches.choice(&random).value(Int.self, forKey: Self.sources[index]) { [source] _ in
        let value = source.current[index]
        for _ in 0..<pauses { sched_yield() }
        return value
      }
      check(value, index, floor)
    }
  }

  /// A third of the tasks is cancelled, which must not reach the others.
  private func loadInTasks(_ caches: Caches, _ turn: Int) async {
    let tasks = (0..<24).map { number in
      Task {
        var random = SeededRandom(seed &* 10_000 &+ UInt64(turn * 100 + 50 + number))
        do { try await loadInTask(caches, number, &random) } catch {
          if !(number % 3 == 0 && error is CancellationError) { Issue.record("seed \(seed), task \(number): \(error)") }
        }
      }
    }
    for number in stride(from: 0, to: tasks.count, by: 3) {
      for _ in 0..<number { await Task.yield() }
      tasks[number].cancel()
    }
    for task in tasks { await task.value }
  }

  private func loadInTask(_ caches: Caches, _ number: Int, _ random: inout SeededRandom) async throws {
    for _ in 0..<12 {
      let (index, pauses) = (random.below(Self.sources.count), random.below(5))
      let cache = caches.choice(&random)
      let floor = written.current[index]
      let value = try await cache.value(Int.self, forKey: Self.sources[index]) { [source] _ in
        let value = source.current[index]
        for _ in 0..<pauses { await Task.yield() }
        return value
      }
      check(value, index, floor)
      if number % 3 == 0 { continue }
      switch random.below(4) {
      case 0:
        try await cache.update(Int.self, forKey: Self.counters[0]) { $0 = ($0 ?? 0) + 1 }
        sums { $0[0] += 1 }
      case 1: try await cache.write(waitsForCommit: true) { _ in }
      case 2:
        let floor = sums.current[1]
        let found = try await cache.read { try $0.value(Int.self, forKey: Self.counters[1]) }
        if found ?? -1 < floor { Issue.record("a snapshot has \(found ?? -1), and \(floor) was added") }
      default: try await cache.flush()
      }
    }
  }

  // MARK: Changes

  private func writeWatched(_ caches: Caches, _ random: inout SeededRandom) throws {
    for number in 0..<150 {
      let key = Self.watched[random.below(Self.watched.count)]
      let cache = caches.choice(&random)
      switch random.below(10) {
      case 0...5: try cache.set(number, forKey: key)
      case 6...7: try cache.removeValue(forKey: key)
      case 8: try cache.removeAll(.prefix(key))
      default: try cache.write { $0.set(number, forKey: key) }
      }
    }
  }

  /// The last change of a key that an observer got is its state.
  private func compare(_ changes: CacheChanges, _ caches: Caches) throws {
    var isPresent: [String: Bool] = [:]
    for change in changes.taken() {
      switch change {
      case .set(let key): isPresent[key] = true
      case .removed(let key), .evicted(let key), .expired(let key), .removedAll(let key): isPresent[key] = false
      case .missed: isPresent = [:]
      }
    }
    for (key, isPresent) in isPresent { #expect(try caches.disk.contains(key) == isPresent, "\(key)") }
  }

  // MARK: Upkeep

  /// Observers, objects and verifications that come and go.
  private func keepUp(_ caches: Caches, _ random: inout SeededRandom) throws {
    for number in 0..<20 {
      switch random.below(5) {
      case 0:
        let cache = try openOne()
        try cache.set(number, forKey: "passing")
        let found = try caches.choice(&random).value(Int.self, forKey: "passing")
        #expect(found == number)
        try cache.close()
      case 1:
        try unlessBusy {
          let report = try CacheInspection.verify(directory: directory.url, checksValues: number % 2 == 0)
          if report.damagedEntries > 0 { Issue.record("\(report.damage)") }
        }
      case 2:
        let changes = caches.choice(&random).changes(bufferingLimit: 4)
        for key in Self.watched { _ = try caches.cache.value(Int.self, forKey: key) }
        _ = (changes.taken(), caches.choice(&random).observe(Int.self, forKey: Self.watched[0]).value)
      case 3: caches.cache.memory.trim(to: .count(2))
      default: caches.choice(&random).memory.removeAll()
      }
    }
  }

  // MARK: After a turn

  private func compare(_ caches: Caches) throws {
    let performers = performers(caches)
    for history in histories { history.readAll(by: performers, at: moment) }
    let boxed = try caches.disk.value(Int.self, forKey: "box")
    let (put, taken) = box.current
    #expect(put.sorted() == (boxed.map { taken + [$0] } ?? taken).sorted())
    for cache in [caches.disk, caches.cache, caches.other] {
      for (key, sum) in zip(Self.counters, sums.current) {
        #expect(try cache.value(Int.self, forKey: key) == sum)
        // Memory may drop an entry at any point of an addition, and its tags with it.
        #expect(try cache.entry(forKey: key)?.isTagged(Self.tag) == true)
      }
      for key in Self.group { #expect(try cache.value(Data.self, forKey: key).map(Self.number) == batch.current) }
      for (index, key) in Self.sources.enumerated() {
        if let value = try cache.value(Int.self, forKey: key) { check(value, index, written.current[index]) }
      }
    }
    // Loads that were canceled may still be ending.
    let environment = caches.cache.environment
    #expect(eventually { environment.runningReads == 0 })
    #expect(try caches.cache.entries(withPrefix: "box").count == (boxed == nil ? 0 : 1))
    try compareCounts(caches, performers[.disk]!)
    try caches.cache.sweepValues()
    #expect(try caches.cache.valueLogFaults() == [])
    for cache in [caches.cache, caches.disk, caches.other] {
      #expect(cache.health.isHealthy && !cache.isRefreshing)
      cache._checkInvariants()
    }
  }

  private func compareCounts(_ caches: Caches, _ performer: ModelPerformer) throws {
    let shared = try caches.cache.entries().filter { !StormHistory.owns($0.key) }
    let answer = performer.answer(to: .count)
    let parts = histories.map { $0.census(at: moment) }
    let count = shared.count + parts.reduce(0) { $0 + $1.count }
    let cost = shared.reduce(0) { $0 + $1.cost } + parts.reduce(0) { $0 + $1.cost }
    #expect(answer == "\(count) \(cost)")
  }
}
