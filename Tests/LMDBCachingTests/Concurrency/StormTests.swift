import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Meant for the thread sanitizer too.
@Suite struct StormTests {
  let directory = CacheDirectory()

  static let memoryLimits = [0, 1, Int.max]

  func open(_ memoryLimit: Int = .max, _ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open { configuration in
      configuration.memory.countLimit = memoryLimit
      configuration.disk.groupCommitInterval = .milliseconds(1)
      configuration.disk.journalSize = 64 << 10
      change(&configuration)
    }
  }

  func storm(
    readers: Int, _ read: @escaping @Sendable (Int) throws -> Void, write: @escaping @Sendable () throws -> Void
  ) {
    let isDone = Guarded(false)
    let group = DispatchGroup()
    for index in 0..<readers {
      inBackground(group) {
        do { while !isDone.current { try read(index) } } catch { Issue.record(error) }
      }
    }
    inBackground(group) {
      do { try write() } catch { Issue.record(error) }
      isDone { $0 = true }
    }
    group.wait()
  }

  static func text(_ number: Int) -> String { String(number) + String(repeating: "x", count: number % 5 * 700) }

  @Test(arguments: memoryLimits) func oneKeyIsReadWhileItIsWritten(_ memoryLimit: Int) throws {
    let cache = try open(memoryLimit) { $0.disk.inlineThreshold = 2_000 }
    storm(readers: 3) { index in
      let value = try index == 0 ? cache.withoutMemory.value(String.self, forKey: "key") : cache.value(forKey: "key")
      guard let value else { return }
      let number = Int(value.prefix { $0 != "x" }) ?? -1
      if value != Self.text(number) { Issue.record("a value that was never written: \(value.prefix(20))") }
    } write: {
      for number in 0..<1_500 {
        try cache.set(Self.text(number), forKey: "key")
        if number % 100 == 99 { try cache.removeValue(forKey: "key") }
      }
    }
    try cache.close()
  }

  /// Replacing a value frees its place in the log; a reader about to read it must find the new value.
  @Test func aLongValueThatIsReplacedIsAlwaysFound() throws {
    let cache = try open(0) {
      $0.disk.inlineThreshold = 1_000; $0.disk.groupCommitInterval = .zero
    }
    try cache.set(String(repeating: "x", count: 1_500), forKey: "key")
    try cache.set(Data(count: 2_000), forKey: "data")
    try cache.flush()
    storm(readers: 3) { index in
      if index == 0 {
        if try cache.value(Data.self, forKey: "data") == nil { Issue.record("no data") }
        return
      }
      if try cache.value(String.self, forKey: "key") == nil { Issue.record("no value") }
    } write: {
      for number in 0..<1_500 {
        try cache.set(String(repeating: "x", count: 1_500 + number), forKey: "key")
        if number % 4 == 0 { try cache.set(Data(count: 2_000), forKey: "data") }
      }
    }
    try cache.close()
  }

  @Test(arguments: memoryLimits, [true, false]) func nobodySeesAnOlderValueThanTheLastOneSet(
    _ memoryLimit: Int, _ dropsMemory: Bool
  ) throws {
    let cache = try open(memoryLimit)
    let keys = (0..<4).map { "key\($0)" }
    let written = Guarded([Int](repeating: 0, count: 4))
    for key in keys { try cache.set(0, forKey: key) }
    storm(readers: 3) { index in
      let key = Int.random(in: 0..<4)
      // Disk reads fill the memory tier, which must not receive an old value.
      if dropsMemory && index == 0 { cache.memory.removeAll() }
      let before = written.current[key]
      let value = try cache.value(Int.self, forKey: keys[key]) ?? -1
      if value < before { Issue.record("\(value) after \(before)") }
    } write: {
      for number in 1...2_500 {
        let key = number % 4
        if number % 7 == 0 {
          try cache.withoutMemory.set(number, forKey: keys[key])
        } else {
          try cache.set(number, forKey: keys[key])
        }
        if try cache.value(Int.self, forKey: keys[key]) != number { Issue.record("its own set is not seen") }
        written { $0[key] = number }
      }
    }
    try cache.close()
  }

  @Test(arguments: memoryLimits) func everyThreadSeesItsOwnWrites(_ memoryLimit: Int) throws {
    let cache = try open(memoryLimit)
    concurrently(4) { thread in
      do {
        for number in 0..<600 {
          let key = "\(thread)/\(number % 9)"
          try cache.set(number, forKey: key)
          if try cache.value(Int.self, forKey: key) != number { Issue.record("set, then get: not the same") }
          if number % 5 == 0 {
            try cache.removeValue(forKey: key)
            if try cache.value(Int.self, forKey: key) != nil { Issue.record("removed, then found") }
            if try cache.contains(key) { Issue.record("removed, then contained") }
          }
        }
      } catch { Issue.record(error) }
    }
    try cache.close()
  }

  @Test(arguments: memoryLimits) func aRemovalOfAllRacesSetsAndReads(_ memoryLimit: Int) throws {
    let cache = try open(memoryLimit)
    // The last set that has returned, and the last one followed by a removal.
    let lastSet = Guarded(0)
    let lastRemoved = Guarded(0)
    storm(readers: 3) { index in
      let key = "k\(Int.random(in: 0..<20))"
      if index == 0 {
        let number = lastSet.current + 1
        try cache.set(number, forKey: key)
        return lastSet { $0 = number }
      }
      let removed = lastRemoved.current
      if let value = try cache.value(Int.self, forKey: key), value <= removed {
        Issue.record("\(value) came back after a removal that came after \(removed)")
      }
    } write: {
      for round in 0..<300 {
        let number = lastSet.current
        if round % 3 == 0 { try cache.removeAll(.prefix("k")) } else { try cache.removeAll() }
        lastRemoved { $0 = number }
      }
    }
    try cache.removeAll()
    #expect(try cache.entries().isEmpty)
    #expect(try cache.count == 0 && cache.memory.count == 0)
    try cache.close()
  }

  @Test func whatMemoryEvictsBeforeItsCommitIsFound() throws {
    let cache = try open(1) {
      neverCommitting(&$0); $0.disk.journalSize = 8 << 20
    }
    concurrently(3) { thread in
      do {
        for number in 0..<1_000 { try cache.set(number, forKey: "\(thread)/\(number)") }
        for number in 0..<1_000 {
          if try cache.value(Int.self, forKey: "\(thread)/\(number)") != number { Issue.record("lost") }
        }
      } catch { Issue.record(error) }
    }
    #expect(try cache.count == 3_000)
    try cache.close()
  }

  final class Caller: Codable, Sendable {
    let onRelease: (@Sendable () -> Void)?
    init(_ onRelease: (@Sendable () -> Void)?) { self.onRelease = onRelease }
    init(from decoder: any Decoder) throws { onRelease = nil }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(1)
    }
    deinit { onRelease?() }
  }

  @Test(arguments: [true, false]) func aValuesDeinitMayCallTheCache(_ asynchronously: Bool) throws {
    let cache = try open(50)
    cache.memory.releasesAsynchronously = asynchronously
    let released = Guarded(0)
    let isDone = finishes(within: 60) {
      concurrently(3) { thread in
        for number in 0..<300 {
          let value = Caller {
            released { $0 += 1 }
            try? cache.set(number, forKey: "released\(number % 10)")
            _ = try? cache.value(Int.self, forKey: "released\(number % 10)")
            try? cache.removeValue(forKey: "other")
            _ = cache.memory.count
          }
          try? cache.set(value, forKey: "\(thread)/\(number % 30)")
          if number % 50 == 0 { try? cache.removeAll() }
          if number % 70 == 0 { cache.memory.trim(to: .count(3)) }
        }
      }
      cache.memory.removeAll()
    }
    #expect(isDone)
    #expect(eventually { released.current == 900 })
    try cache.close()
  }

  @Test func trimsHoldUpNoReader() throws {
    let cache = try open { $0.disk.journalSize = 8 << 20 }
    for number in 0..<3_000 { try cache.set(number, forKey: "k\(number)") }
    storm(readers: 3) { index in
      let number = Int.random(in: 0..<3_000)
      if let value = try cache.value(Int.self, forKey: "k\(number)"), value != number { Issue.record("wrong value") }
      if index == 0 { try cache.set(number, forKey: "k\(number)") }
    } write: {
      for round in 0..<15 {
        try cache.trim(to: .count(2_500 - round * 100))
        try cache.disk.trim(to: .limits)
        try cache.trim(to: .age(.seconds(3_600)))
      }
    }
    #expect(try cache.entries().count == cache.count)
    try cache.close()
  }

  @Test func aSnapshotSeesBatchesWhole() throws {
    let cache = try open()
    storm(readers: 3) { index in
      if index == 0 { return try cache.set(1, forKey: "noise\(Int.random(in: 0..<50))") }
      let values = try cache.read {
        (try $0.value(Int.self, forKey: "a"), try $0.value(Int.self, forKey: "z"), try $0.entries(withPrefix: "list/"))
      }
      if values.0 != values.1 || values.0.map({ $0 % 5 }) ?? 0 != values.2.count {
        Issue.record("half a batch: \(values)")
      }
    } write: {
      for number in 0..<300 {
        try cache.write { batch in
          batch.set(number, forKey: "a")
          batch.removeAll(.prefix("list/"))
          for index in 0..<number % 5 { batch.set(index, forKey: "list/\(index)") }
          batch.set(number, forKey: "z")
        }
      }
    }
    try cache.close()
  }

  @Test(arguments: Array(0..<12)) func closingWhileOthersUseItIsAnError(_ round: Int) throws {
    let cache = try open(round % 2 == 0 ? .max : 0) { $0.durability = round % 3 == 0 ? .full : .ordered }
    for number in 0..<50 { try cache.set(number, forKey: "k\(number)") }
    let group = DispatchGroup()
    let isStarted = Guarded(0)
    for thread in 0..<4 {
      inBackground(group) {
        isStarted { $0 += 1 }
        var number = 0
        while true {
          number += 1
          let key = "k\(number % 50)"
          let code = errorCode {
            switch (number + thread) % 8 {
            case 0: try cache.set(number, forKey: key)
            case 1: _ = try cache.value(Int.self, forKey: key)
            case 2: try cache.removeValue(forKey: "x")
            case 3: _ = try cache.entries(withPrefix: "k1")
            case 4: _ = try cache.withBytes(forKey: key) { $0.byteCount }
            case 5: try cache.write { $0.set(number, forKey: key) }
            case 6: _ = try cache.read { try $0.value(Int.self, forKey: key) }
            default: try cache.trim(to: .count(40))
            }
          }
          _ = (cache.containsObject(forKey: key), cache.statistics, cache.health)
          if let code {
            if code != .closed { Issue.record("\(code)") }
            break
          }
        }
      }
    }
    _ = eventually { isStarted.current == 4 }
    usleep(UInt32(round) * 500)
    try cache.close()
    #expect(group.wait(timeout: .now() + 30) == .success)
    let reopened = try open { $0.durability = round % 3 == 0 ? .full : .ordered }
    for number in 0..<50 { _ = try reopened.value(Int.self, forKey: "k\(number)") }
    try reopened.close()
  }

  @Test func openingAndClosingFromManyThreads() throws {
    concurrently(4) { thread in
      for round in 0..<25 {
        do {
          let cache = try directory.open()
          try cache.set(round, forKey: "t\(thread)")
          if try cache.value(Int.self, forKey: "t\(thread)") != round { Issue.record("lost") }
          try cache.close()
        } catch { Issue.record(error) }
      }
    }
    let cache = try directory.open()
    for thread in 0..<4 { #expect(try cache.value(Int.self, forKey: "t\(thread)") == 24) }
    #expect(try cache.count == 4)
    try cache.close()
    #expect(directory.journals.isEmpty)
  }
}
