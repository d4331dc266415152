import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

/// Reads without a map, lock or reader slot, while a writer reuses pages as soon as it may.
@Suite struct UnmappedStormTests {
  let directory = TemporaryDirectory()

  private static let keys = 600
  private static func key(_ index: Int) -> [UInt8] { bytes("key \(index * 7919 % keys)") }

  @Test func everyStateIsWhole() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try fill(environment, 0)
    let isDone = Atomic<Bool>(false)
    let looks = Atomic<Int>(0)
    let longLooks = Atomic<Int>(0)
    onThreads(3) { thread in
      do {
        if thread == 0 {
          defer { isDone.store(true, ordering: .releasing) }
          // Runs until enough was read, on machines of any speed.
          var round = 1
          while round < 300 || looks.load(ordering: .relaxed) < 200 || longLooks.load(ordering: .relaxed) < 20 {
            try fill(environment, round)
            round += 1
            // A long read succeeds only between two commits, so the pauses grow.
            if round > 300 { MonotonicClock.sleep(nanoseconds: min(Int64(round - 300), 200) * 500_000) }
            if round > 200_000 { return }
          }
          return
        }
        let file = try UnmappedFile.open(Directory(path: directory.path))!
        var random = SeededRandom(UInt64(thread))
        while !isDone.load(ordering: .acquiring) {
          let isLong = random.below(8) == 0
          let start = random.below(Self.keys)
          let seen = try file.read { (state) throws(DataFileError) in
            let cursor = try UnmappedCursor(state)
            // After repeated failures, reads less.
            let count = isLong && state.attempt < 2 ? Self.keys : 5
            var seen: [[UInt8]?] = [try cursor.value([1])]
            for index in 0..<count { seen.append(try cursor.value(Self.key((start + index) % Self.keys))) }
            return seen
          }
          let round = seen[0]!
          for (index, value) in seen.dropFirst().enumerated() {
            let key = Self.key((start + index) % Self.keys)
            if let value {
              if Array(value.suffix(1)) != round { Issue.record("of another state") }
              if Array(value.dropLast().prefix(key.count)) != key { Issue.record("of another key") }
            } else if (start + index) % Self.keys % 3 != 0 {
              Issue.record("lost")
            }
          }
          looks.add(1, ordering: .relaxed)
          if seen.count > Self.keys { longLooks.add(1, ordering: .relaxed) }
        }
      } catch {
        Issue.record(error)
        isDone.store(true, ordering: .releasing)
      }
    }
    #expect(looks.load(ordering: .relaxed) >= 200 && longLooks.load(ordering: .relaxed) >= 20)
  }

  /// Every third key exists in every second round only; every tenth value has overflow pages.
  private func fill(_ environment: Environment, _ round: Int) throws {
    let transaction = try environment.beginWrite()
    try transaction.put([UInt8(truncatingIfNeeded: round)], [1])
    for index in 0..<Self.keys {
      if index % 3 == 0, round % 2 == 1 {
        _ = try transaction.remove(Self.key(index))
      } else {
        let filling = [UInt8](repeating: 9, count: index % 10 == 0 ? 6_000 : 0)
        try transaction.put(Self.key(index) + filling + [UInt8(truncatingIfNeeded: round)], Self.key(index))
      }
    }
    try transaction.commit()
  }
}
