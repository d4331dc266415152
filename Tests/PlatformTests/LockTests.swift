import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct LockTests {
  let folder = TemporaryFolder()

  private func lock() throws(SystemError) -> FileLock { FileLock(try folder.directory.create("lock")) }

  /// A clock that only sleeping advances.
  private final class Clock: Sendable {
    let time = Mutex<Int64>(0)
    let sleeps = Mutex<Int>(0)
    let action: @Sendable (Int64) -> Void

    init(_ action: @escaping @Sendable (Int64) -> Void = { _ in }) { self.action = action }

    var waiting: Waiting {
      Waiting(
        now: { self.time.withLock { $0 } },
        sleep: { nanoseconds in
          let now = self.time.withLock {
            $0 += nanoseconds
            return $0
          }
          self.sleeps.withLock { $0 += 1 }
          self.action(now)
        })
    }
  }

  @Test func twoDescriptorsExcludeEachOther() throws {
    let one = try lock()
    let two = try lock()
    #expect(try one.tryLock(.exclusive))
    #expect(try !two.tryLock(.exclusive))
    #expect(try !two.tryLock(.shared))
    try one.unlock()
    #expect(try two.tryLock(.shared))
    #expect(try one.tryLock(.shared))
    #expect(try !one.tryLock(.exclusive))
    // flock(2) released the shared lock.
    #expect(try two.tryLock(.exclusive))
  }

  @Test func aWaitHasAnEnd() throws {
    let holder = try lock()
    let waiter = try lock()
    #expect(try holder.tryLock(.exclusive))
    let clock = Clock()
    #expect(try !waiter.lock(.exclusive, within: 50_000_000, clock.waiting))
    #expect(clock.time.withLock { $0 } == 50_000_000)
    // About a millisecond each, not thousands of polls.
    #expect(clock.sleeps.withLock { $0 } < 80)
    #expect(try !waiter.lock(.shared, within: 0, clock.waiting))
    #expect(try !waiter.lock(.shared, within: -5, clock.waiting))
  }

  @Test func aWaitEndsWithTheLock() throws {
    final class Holder: Sendable {
      let lock: FileLock
      init(_ lock: consuming FileLock) { self.lock = lock }
    }
    let holder = Holder(try lock())
    let waiter = try lock()
    #expect(try holder.lock.tryLock(.exclusive))
    let clock = Clock { now in
      if now > 10_000_000 { #expect(throws: Never.self) { try holder.lock.unlock() } }
    }
    // An unreachable limit does not overflow.
    #expect(try waiter.lock(.exclusive, within: .max, clock.waiting))
    #expect(clock.time.withLock { $0 } < 20_000_000)
  }

  @Test func aDirectoryIsLockedByADescriptorOfItsOwn() throws {
    let one = try FileLock(folder.directory)
    let two = try FileLock(folder.directory)
    #expect(try one.tryLock(.exclusive))
    #expect(try !two.tryLock(.exclusive))
  }

  @Test func theLockGoesWithTheObject() throws {
    func take() throws -> Bool { try lock().tryLock(.exclusive) }
    #expect(try take())
    #expect(try take())
  }

  @Test func theHolderIsTold() throws {
    #if os(Linux)
      let one = try lock()
      #expect(try one.exclusiveHolder() == nil)
      #expect(try one.tryLock(.exclusive))
      let holder = try #require(try one.exclusiveHolder())
      #expect(holder.process == getpid())
      #expect(!holder.isSuspended)
      #expect(holder.name != nil)
      #expect("\(holder)".hasPrefix("process \(getpid()) ("))
    #endif
  }
}
