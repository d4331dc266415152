import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ChangeStormTests {
  let directory = CacheDirectory()

  @Test func theLastChangeToldOfAKeyIsTrue() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let other = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let changes = cache.changes(withPrefix: "k", bufferingLimit: 64)
    concurrently(4) { thread in
      var random = SeededRandom(UInt64(thread))
      let cache = thread % 2 == 0 ? cache : other
      for number in 0..<600 {
        let key = "k\(random.below(8))"
        do {
          switch random.below(10) {
          case 0...5: try cache.set(number, forKey: key)
          case 6...7: try cache.removeValue(forKey: key)
          case 8: try cache.removeAll(.prefix(key))
          default: try cache.write { $0.set(number, forKey: key) }
          }
        } catch { Issue.record(error) }
      }
    }
    var told: [String: Bool] = [:]
    for change in changes.taken() {
      switch change {
      case .set(let key): told[key] = true
      case .removedAll(let prefix): told[prefix] = false
      case .removed(let key), .evicted(let key), .expired(let key): told[key] = false
      case .missed: told = [:]
      }
    }
    for (key, exists) in told { #expect(try cache.contains(key) == exists, "\(key)") }
    try other.close()
    try cache.close()
  }

  @Test(.timeLimit(.minutes(30))) func observersComeAndGo() async throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let isDone = Guarded(false)
    let group = DispatchGroup()
    for thread in 0..<2 {
      inBackground(group) {
        var number = 0
        while !isDone.current {
          do { try cache.set(number, forKey: "k\(thread)-\(number % 20)") } catch { Issue.record(error) }
          number += 1
        }
      }
    }
    await withTaskGroup(of: Void.self) { tasks in
      for index in 0..<40 {
        tasks.addTask {
          var taken = 0
          for await _ in cache.changes(withPrefix: "k\(index % 2)", bufferingLimit: 4) {
            taken += 1
            if taken > 20 { break }
          }
        }
        if index % 4 == 0 { tasks.addTask { for await _ in cache.changes(withPrefix: "none") {} } }
      }
      for _ in 0..<40 { await tasks.next() }
      tasks.cancelAll()
    }
    isDone { $0 = true }
    group.wait()
    #expect(cache.store.feed.watches.isEmpty)
    try await cache.close()
  }

  @Test(.timeLimit(.minutes(30))) func theEndReachesWhoBeginsToObserve() async throws {
    for _ in 0..<20 {
      let cache = try directory.open()
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<6 { tasks.addTask { for await _ in cache.changes() {} } }
        tasks.addTask { do { try cache.close() } catch { Issue.record(error) } }
      }
      #expect(cache.store.feed.watches.isEmpty)
    }
  }
}
