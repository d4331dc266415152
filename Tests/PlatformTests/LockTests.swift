import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct LockTests {
  let folder = TemporaryFolder()

  private func lock() throws(SystemError) -> FileLock { FileLock(try folder.directory.create("lock")) }

  /// A clock that only sleeping moves.
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
    // flock(2) let go of the shared lock.
    #expect(try two.tryLock(.exclusive))
  }

  @Test func aWaitHasAnEnd() throws {
    let holder = try lock()
    let waiter = try lock()
    #expect(try holder.tryLock(.exclusive))
    let clock = Clock()
    #expect(try !waiter.lock(.exclusive, within: 50_000_000, clock.waiting))
    #expect(clock.time.withLock { $0 } == 50_000_000)
    // About a millisecond each, and not thousands of looks.
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
    // A limit that no clock reaches does not overflow.
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

  #if canImport(Glibc)
    /// A child that outlives its parent must not keep the parent's locks: here it lives, and the parent lets go.
    @Test(arguments: [1, 300, 700]) func aForkedChildGivesTheLocksUp(_ count: Int) throws {
      final class Holder: Sendable {
        let lock: FileLock
        init(_ lock: consuming FileLock) { self.lock = lock }
      }
      var holders: [Holder] = []
      for index in 0..<count { holders.append(Holder(FileLock(try folder.directory.create("\(index)")))) }
      for holder in holders { #expect(try holder.lock.tryLock(.exclusive)) }
      var pipes: [Int32] = [0, 0]
      #expect(pipe(&pipes) == 0)
      let child = fork()
      if child == 0 {
        limitForkedChild()
        close(pipes[1])
        var byte: UInt8 = 0
        // The locks are of no use here.
        let isUseless = failure { () throws(SystemError) in _ = try holders[0].lock.tryLock(.shared) }?.errno == EBADF
        _ = read(pipes[0], &byte, 1)
        _exit(isUseless ? 0 : 1)
      }
      close(pipes[0])
      holders = []
      // The child has given them up before fork() returned there; nothing says when that is.
      for index in 0..<count {
        let lock = FileLock(try folder.directory.create("\(index)"))
        #expect(try lock.lock(.exclusive, within: 10_000_000_000))
      }
      close(pipes[1])
      #expect(result(ofForkedChild: child) == 0)
    }
  #endif
}
