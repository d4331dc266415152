import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct ThreadPoolTests {
  @Test(arguments: [1, 3]) func everythingIsDoneOnce(_ maximumCount: Int) {
    let pool = ThreadPool(name: "test", maximumCount: maximumCount, idleTime: 1_000_000)
    let done = Guarded<[Int]>([])
    let most = Guarded((now: 0, most: 0))
    concurrently(4) { thread in
      for number in 0..<250 {
        #expect(
          pool.run {
            most { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            done { $0.append(thread * 1_000 + number) }
            most { $0.now -= 1 }
          })
        // Lets threads end now and then.
        if number % 50 == 0 { MonotonicClock.sleep(nanoseconds: 3_000_000) }
      }
      pool.drain()
    }
    #expect(done.current.count == 1_000 && Set(done.current).count == 1_000)
    #expect(most.current.most <= maximumCount)
    #expect(pool.waitingCount == 0)
    guard maximumCount == 1 else { return }
    for thread in 0..<4 {
      let own = done.current.filter { $0 / 1_000 == thread }
      #expect(own == own.sorted())
    }
  }

  /// It waits for earlier work only.
  @Test func aDrainEndsAlthoughMoreComes() {
    let pool = ThreadPool(name: "test")
    let isOver = Guarded(false)
    let count = Guarded(0)
    @Sendable func goOn() {
      count { $0 += 1 }
      if !isOver.current { pool.run { goOn() } }
    }
    pool.run { goOn() }
    for _ in 0..<10 {
      let before = count.current
      pool.drain()
      #expect(count.current >= before)
    }
    isOver { $0 = true }
    pool.drain()
    pool.drain()
    #expect(pool.waitingCount == 0)
  }

  /// Without a spare thread, work is queued.
  @Test func whatNoThreadDoesIsKept() {
    let pool = ThreadPool(name: "test", idleTime: 0)
    let done = Guarded<[Int]>([])
    let session = FaultInjection.begin(.currentThread, [.init(.pthreadCreate, returns: EAGAIN, count: .max)])
    for number in 0..<3 { #expect(!pool.run { done { $0.append(number) } }) }
    for number in 10..<13 { #expect(!pool.run(isKept: false) { done { $0.append(number) } }) }
    #expect(done.current == [])
    #expect(pool.waitingCount == 3)
    pool.drain()
    #expect(done.current == [0, 1, 2])
    #expect(!pool.run { done { $0.append(3) } })
    FaultInjection.end(session)
    // The first new thread does all of it.
    #expect(pool.run { done { $0.append(4) } })
    pool.drain()
    #expect(done.current == [0, 1, 2, 3, 4])
  }

  /// Captures are released even while the thread waits for more work.
  @Test func whatIsDoneIsLetGoOf() {
    final class Tracked: Sendable {}
    let pool = ThreadPool(name: "test")
    for _ in 0..<100 {
      var tracked: Tracked? = Tracked()
      weak let observed = tracked
      pool.run { [tracked] in withExtendedLifetime(tracked) {} }
      tracked = nil
      pool.drain()
      #expect(observed == nil)
    }
  }
}
