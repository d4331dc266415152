import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

/// More concurrent tasks than reader slots, cancelled anywhere. Meant for the thread sanitizer too.
@Suite struct ReaderStormTests {
  let directory = CacheDirectory()

  private enum Outcome: Sendable {
    case value(Int?)
    case cancelled
    case failed(String)
  }

  @Test(.timeLimit(.minutes(30))) func moreTasksThanTheTableHasPlaces() async throws {
    let cache = try directory.open { $0.memory.countLimit = 10 }
    let environment = cache.store.environment
    let count = try environment.info().maxReaders + 500
    for number in 0..<50 { try cache.set(number, forKey: "k\(number * 2)") }
    try await cache.flush()
    let tasks = (0..<count).map { number in Task { await Self.use(cache, number) } }
    var random = SeededRandom(7)
    for _ in 0..<count {
      if random.below(3) == 0 { tasks.randomElement(using: &random)!.cancel() }
      if random.below(20) == 0 { await Task.yield() }
    }
    var (values, cancelled) = (0, 0)
    for (number, task) in tasks.enumerated() {
      switch await task.value {
      case .value(let value):
        #expect(value == nil || value == number % 100 || value == number % 100 / 2)
        values += 1
      case .cancelled: cancelled += 1
      case .failed(let error): Issue.record("task \(number): \(error)")
      }
    }
    #expect(values > 0)
    #expect(values + cancelled == count)
    // An abandoned load may still be ending.
    #expect(eventually { environment.runningReads == 0 })
    // The pool's slots, and one from opening.
    #expect(try environment.info().readersInUse <= 65)
    #expect(try environment.checkReaders() == 0)
    // No leftover read keeps the map from moving.
    try environment.growMap(to: 2 << 30)
    try await cache.close()
  }

  private static func use(_ cache: LMDBCache, _ number: Int) async -> Outcome {
    let key = "k\(number % 100)"
    do {
      switch number % 5 {
      case 0, 1:
        let value = try await cache.value(Int.self, forKey: key) { _ async throws -> Int in
          for _ in 0..<number % 7 { await Task.yield() }
          try Task.checkCancellation()
          return number % 100
        }
        return .value(value)
      case 2: return .value(try snapshotValue(cache, key))
      case 3: return .value(try bytes(cache, key))
      default:
        await Task.yield()
        return .value(try cache.withoutMemory.value(Int.self, forKey: key))
      }
    } catch is CancellationError {
      return .cancelled
    } catch {
      return .failed("\(error)")
    }
  }

  private static func snapshotValue(_ cache: LMDBCache, _ key: String) throws -> Int? {
    try cache.read { snapshot in
      // A throw from within the read releases its slot too.
      try Task.checkCancellation()
      return try snapshot.value(Int.self, forKey: key)
    }
  }

  private static func bytes(_ cache: LMDBCache, _ key: String) throws -> Int? {
    try cache.withBytes(forKey: key) { bytes in
      try Task.checkCancellation()
      return bytes.unsafeLoadUnaligned(as: Int.self)
    }
  }
}
