import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct LockTests {
  let folder = TemporaryFolder()

  private func lock() throws(SystemError) -> FileLock { FileLock(try folder.directory.create("lock")) }

  @Test(arguments: [false, true]) func twoDescriptorsExcludeEachOther(_ areOfTheDirectory: Bool) throws {
    func lock() throws -> FileLock {
      if areOfTheDirectory { return try FileLock(folder.directory) }
      return try self.lock()
    }
    do {
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
    // The lock goes with its object.
    let again = try lock()
    #expect(try again.tryLock(.exclusive))
  }

  @Test(arguments: [-5, 0, 2_000_000] as [Int64]) func aWaitHasAnEnd(_ limit: Int64) throws {
    let holder = try lock()
    let waiter = try lock()
    #expect(try holder.tryLock(.exclusive))
    #expect(try !waiter.lock(.exclusive, within: limit))
    try holder.unlock()
    // An unreachable limit does not overflow.
    #expect(try waiter.lock(.exclusive, within: .max))
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
