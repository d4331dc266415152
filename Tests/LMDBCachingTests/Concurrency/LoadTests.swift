import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// What happens to a loaded value when its key is written during the load.
@Suite struct LoadTests {
  let directory = CacheDirectory()

  enum Write: CaseIterable {
    case set, removal, removalOfAll, removalOfPrefix, removalOfTag, batch, batchRemovesPrefix, object
    case otherCacheSets, otherCacheRemoves, diskSets, diskRemoves, diskRemovesAll
    /// Leaves no entry behind when the load ends.
    case setAndRemoval
    /// Does not touch "key".
    case removalOfOtherPrefix, removalOfOtherTag, batchRemovesOthers

    /// The value under the key afterwards.
    var left: Int? {
      switch self {
      case .set, .batch, .object, .otherCacheSets, .diskSets: 2
      case .removalOfOtherPrefix, .removalOfOtherTag, .batchRemovesOthers: 1
      default: nil
      }
    }

    func make(_ cache: LMDBCache, _ other: LMDBCache) throws {
      switch self {
      case .set: try cache.set(2, forKey: "key")
      case .removal: try cache.removeValue(forKey: "key")
      case .removalOfAll: try cache.removeAll()
      case .removalOfPrefix: try cache.removeAll(.prefix("k"))
      case .removalOfTag: try other.removeAll(.tag("tag"))
      case .removalOfOtherPrefix: try cache.removeAll(.prefix("keys"))
      case .removalOfOtherTag: try other.removeAll(.tag("other"))
      case .batch: try cache.write { $0.set(2, forKey: "key") }
      case .batchRemovesPrefix: try cache.write { $0.removeAll(.prefix("k")) }
      case .batchRemovesOthers:
        try cache.write {
          $0.removeAll(.prefix("other"))
          $0.removeAll(.tag("other"))
        }
      case .object: try cache.setObject(NSNumber(value: 2), forKey: "key")
      case .otherCacheSets: try other.set(2, forKey: "key")
      case .otherCacheRemoves: try other.removeValue(forKey: "key")
      case .diskSets: try cache.withoutMemory.set(2, forKey: "key")
      case .diskRemoves: try cache.withoutMemory.removeValue(forKey: "key")
      case .diskRemovesAll: try cache.withoutMemory.removeAll()
      case .setAndRemoval:
        try cache.set(2, forKey: "key")
        try cache.removeValue(forKey: "key")
      }
    }
  }

  @Test(arguments: Write.allCases)
  func aWriteDuringATasksLoadStays(_ write: Write) async throws {
    let cache = try directory.open()
    let other = try directory.open()
    let loaded = try await cache.value(Int.self, forKey: "key") { context in
      context.tags = ["tag"]
      await Task.yield()
      try write.make(cache, other)
      await Task.yield()
      return 1
    }
    #expect(loaded == 1)
    #expect(try cache.value(Int.self, forKey: "key") == write.left)
    try await other.close()
    try await cache.close()
  }

  /// Some keys share bookkeeping slots.
  @Test func aWriteOfAnotherKeyIsNoObstacle() throws {
    let cache = try directory.open()
    #expect(
      try cache.value(Int.self, forKey: "key") { _ in
        for index in 0..<5_000 { try cache.set(index, forKey: "key\(index)") }
        try cache.removeValue(forKey: "key1")
        return 1
      } == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  @Test func aRemovalOfOthersBeginsNoOtherLoad() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let (isReleased, loads) = (Guarded(false), Guarded(0))
    let group = DispatchGroup()
    for number in 1...20 {
      inBackground(group) {
        let value = try? cache.value(Int.self, forKey: "key") { _ in
          loads { $0 += 1 }
          _ = eventually { isReleased.current }
          return 1
        }
        #expect(value == 1)
      }
      #expect(eventually { cache.store.flights.waiterCount(ByteKey("key")) == number })
      try cache.removeAll(.prefix("other:"))
      try cache.removeAll(.tag("other"))
    }
    isReleased { $0 = true }
    group.wait()
    #expect(loads.current == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  @Test func anotherProcessesWriteStays() throws {
    let cache = try directory.open()
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path) interval=1") == "ok")
    let loaded = try cache.value(String.self, forKey: "key") { _ in
      #expect(other.run("write key theirs") == "ok")
      return "mine"
    }
    #expect(loaded == "mine")
    #expect(try cache.value(String.self, forKey: "key") == "theirs")
    let second = try cache.value(String.self, forKey: "second") { _ in
      #expect(other.run("write third theirs") == "ok")
      return "mine"
    }
    #expect(second == "mine")
    #expect(try cache.value(String.self, forKey: "second") == "mine")
    try cache.close()
  }

  @Test func whoAsksAfterARemovalLoadsAnew() throws {
    let cache = try directory.open()
    let isLoading = Guarded(false)
    let isReleased = Guarded(false)
    let first = Guarded<Int?>(nil)
    let group = DispatchGroup()
    inBackground(group) {
      let value = try? cache.value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return 1
      }
      first { $0 = value }
    }
    #expect(eventually { isLoading.current })
    try cache.removeValue(forKey: "key")
    #expect(try cache.value(Int.self, forKey: "key", load: { _ in 2 }) == 2)
    isReleased { $0 = true }
    group.wait()
    #expect(first.current == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    try cache.close()
  }

  @Test func aCancelledLoadStoresNothing() async throws {
    let cache = try directory.open()
    let isLoading = Guarded(false)
    let isOver = Guarded(false)
    let task = Task {
      try await cache.value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        // Ignores cancellation.
        while !Task.isCancelled { await Task.yield() }
        defer { isOver { $0 = true } }
        return 1
      }
    }
    while !isLoading.current { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    while !isOver.current { await Task.yield() }
    // Runs after the first load's task has finished.
    #expect(try await cache.value(Int.self, forKey: "key") { _ in 2 } == 2)
    for _ in 0..<1_000 { await Task.yield() }
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    try await cache.close()
  }

  /// A call that starts after a write has returned never gets an older value, even from a shared load.
  @Test(arguments: 0..<6 as Range<UInt64>)
  func stormOfWritesAndLoads(_ seed: UInt64) async throws {
    func open() throws -> LMDBCache {
      try directory.open {
        $0.disk.groupCommitInterval = .milliseconds(1)
        if seed % 3 == 1 { $0.memory.countLimit = 0 }
        if seed % 3 == 2 { $0.disk.inlineThreshold = 4 }
      }
    }
    let (cache, other) = (try open(), try open())
    let keys = (0..<4).map { "key\($0)" }
    // The source; writers change it before they write.
    let source = keys.map { _ in Guarded(0) }
    let written = keys.map { _ in Guarded(0) }
    let isOver = Guarded(false)
    @Sendable func check(_ key: Int, _ floor: Int, _ value: Int) {
      if value < floor { Issue.record("\(keys[key]) is \(value), and \(floor) was written before") }
    }
    @Sendable func loadOnThisThread(_ key: Int, _ cache: LMDBCache, _ pauses: Int) throws -> Int {
      try cache.value(Int.self, forKey: keys[key]) { _ in
        let value = source[key].current
        for _ in 0..<pauses { sched_yield() }
        return value
      }
    }
    let writers = DispatchGroup()
    for key in keys.indices {
      inBackground(writers) {
        var random = SeededRandom(seed &* 31 &+ UInt64(key))
        do {
          for number in 1...300 {
            source[key]({ $0 = number })
            let target = Bool.random(using: &random) ? cache : other
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: try target.set(number, forKey: keys[key])
            case 2: try target.removeValue(forKey: keys[key])
            case 3: try target.withoutMemory.removeAll(.prefix(keys[key]))
            default: try target.write { $0.removeValue(forKey: keys[key]) }
            }
            written[key]({ $0 = number })
            if Int.random(in: 0..<4, using: &random) == 0 { sched_yield() }
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    writers.notify(queue: .global()) { isOver { $0 = true } }
    let readers = DispatchGroup()
    for thread in 0..<3 {
      inBackground(readers) {
        var random = SeededRandom(seed &* 77 &+ UInt64(thread))
        do {
          while !isOver.current {
            let key = Int.random(in: keys.indices, using: &random)
            let floor = written[key].current
            let target = Bool.random(using: &random) ? cache : other
            check(key, floor, try loadOnThisThread(key, target, Int.random(in: 0..<20, using: &random)))
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<3 {
        group.addTask {
          var random = SeededRandom(seed &* 99 &+ UInt64(task))
          while !isOver.current {
            let key = Int.random(in: keys.indices, using: &random)
            let pauses = Int.random(in: 0..<5, using: &random)
            let floor = written[key].current
            let value = try await cache.value(Int.self, forKey: keys[key]) { _ in
              let value = source[key].current
              for _ in 0..<pauses { await Task.yield() }
              return value
            }
            check(key, floor, value)
          }
        }
      }
      try await group.waitForAll()
    }
    readers.wait()
    // The final value is not older than the last write either.
    for key in keys.indices {
      if let value = try cache.value(Int.self, forKey: keys[key]) { check(key, 300, value) }
      if let value = try cache.withoutMemory.value(Int.self, forKey: keys[key]) { check(key, 300, value) }
    }
    try await other.close()
    try await cache.close()
  }
}
