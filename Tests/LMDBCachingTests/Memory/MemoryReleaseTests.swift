import Dispatch
import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct MemoryReleaseTests {
  /// The threads of releases.
  final class Release: Sendable {
    private let threads = Guarded<[UInt]>([])

    func note() { threads { $0.append(UInt(bitPattern: pthread_self().hashValue)) } }

    /// Waits for `count` releases.
    func wait(for count: Int) -> [UInt] {
      _ = eventually(within: .seconds(600)) { threads.current.count >= count }
      return threads.current
    }
  }

  @Test(arguments: [true, false]) func evictedValuesAreReleasedOffTheCallersThreadIfSoAsked(_ asynchronously: Bool) {
    let cache = MemoryCache<Int, LastWish>(countLimit: 10)
    cache.releasesAsynchronously = asynchronously
    let release = Release()
    for number in 0..<10 { cache.set(LastWish { release.note() }, forKey: number) }
    // A write would not do: its caller holds the new value, and may release it last.
    cache.countLimit = 1
    let own = UInt(bitPattern: pthread_self().hashValue)
    let threads = release.wait(for: 9)
    #expect(threads.count == 9)
    #expect(asynchronously ? !threads.contains(own) : threads.allSatisfy { $0 == own })
  }

  /// Evicted values and those that are not admitted are released without a lock.
  @Test(arguments: [(5, Int.max), (0, Int.max), (10, 10)], [true, false])
  func aValueWhoseDeinitUsesTheCacheDoesNotDeadlock(_ limits: (count: Int, cost: Int), asynchronously: Bool) {
    let cache = MemoryCache<Int, LastWish>(countLimit: limits.count, costLimit: limits.cost)
    cache.releasesAsynchronously = asynchronously
    let release = Release()
    let hasEnded = finishes {
      for number in 0..<100 {
        cache.set(
          LastWish { [weak cache] in
            _ = cache?.value(forKey: number)
            cache?.removeValue(forKey: number + 1_000)
            release.note()
          }, forKey: number % 7, cost: number % 5 == 0 ? 1 : 11)
      }
      cache.removeAll()
      _ = release.wait(for: 100)
    }
    #expect(hasEnded && cache.count == 0)
  }

  /// The main queue may run on another thread here, so a queue-specific key identifies it.
  private static let isMain = DispatchSpecificKey<Bool>()

  @Test func removedValuesAreReleasedOnTheMainThreadIfSoAsked() async throws {
    DispatchQueue.main.setSpecific(key: Self.isMain, value: true)
    let cache = MemoryCache<Int, LastWish>()
    cache.releasesOnMainThread = true
    let places = Guarded<[Bool]>([])
    let tracked: @Sendable () -> LastWish = {
      LastWish {
        let isMain = DispatchQueue.getSpecific(key: Self.isMain) == true
        places { $0.append(isMain) }
      }
    }
    for key in 1...2 { cache.set(tracked(), forKey: key) }
    await Task.detached {
      cache.removeObject(forKey: 1)
      // Includes the last value, which is not stored.
      cache.set(tracked(), forKey: 2, expiresIn: .zero)
    }.value
    #expect(cache.count == 0)
    #expect(try await becomesTrue { places.current.count == 3 })
    #expect(places.current.allSatisfy { $0 })
  }
}
