import Platform
import TestSupport
import Testing

/// Each call that fails is an error with its code, and each call that a signal interrupts is made again.
@Suite struct CallTests {
  let folder = TemporaryFolder()

  private func make(_ call: FaultInjection.Call) throws(SystemError) {
    let directory = folder.directory
    switch call {
    case .openat: _ = try directory.opens("file")
    case .fstat: _ = try directory.opens("file")
    case .fstatat: _ = try directory.kind(of: "file")
    case .mkdirat: _ = try directory.makeSubdirectory("inner")
    case .unlinkat: try directory.remove("file")
    case .renameat: try directory.rename("file", to: "other")
    case .syncfs: try directory.synchronizeVolume()
    default:
      let file = try directory.create("file")
      switch call {
      case .write: try file.write([2])
      case .pwrite: try file.write([2], at: 0)
      case .pread: _ = try file.readToEnd(limit: 10)
      case .fsync: try file.synchronize()
      case .ftruncate: try file.truncate(to: 0)
      case .fallocate: try file.preallocate(0..<10)
      default: _ = try MemoryMap(file, size: 1)
      }
    }
  }

  @Test(arguments: [
    (FaultInjection.Call.openat, EIO), (.fstat, EIO), (.fstatat, EIO), (.mkdirat, ENOSPC), (.unlinkat, EIO),
    (.renameat, EIO), (.syncfs, EIO), (.write, ENOSPC), (.pwrite, EDQUOT), (.pread, EIO), (.fsync, EIO),
    (.ftruncate, EFBIG), (.fallocate, ENOSPC), (.mmap, ENOMEM),
  ]) func aFailureIsAnErrorAndChangesNothing(_ call: FaultInjection.Call, _ code: Int32) throws {
    try folder.write("x", to: "file")
    let session = FaultInjection.begin(.directory(folder.path), [.init(call, returns: code, count: .max)])
    let error = failure { () throws(SystemError) in try make(call) }
    FaultInjection.end(session)
    #expect(error?.errno == code)
    #expect(error?.path.hasPrefix(folder.path) == true)
    #expect(try folder.text(of: "file") == "x")
    #expect(try folder.directory.names() == ["file"])
  }

  @Test(arguments: [FaultInjection.Call.openat, .write, .pwrite, .pread, .fsync, .ftruncate])
  func anInterruptedCallIsMadeAgain(_ call: FaultInjection.Call) throws {
    try folder.write("x", to: "file")
    let session = FaultInjection.begin(.directory(folder.path), [.init(call, returns: EINTR, count: 3)])
    defer { FaultInjection.end(session) }
    try make(call)
    #expect(FaultInjection.report(session).triggered == 3)
  }

  @Test func aDirectoryIsSynchronizedAndALockIsTakenAfterInterruptions() throws {
    let lock = FileLock(try folder.directory.create("lock"))
    let rules = [FaultInjection.Call.fsync, .flock].map { FaultInjection.Rule($0, returns: EINTR, count: 3) }
    let session = FaultInjection.begin(.directory(folder.path), rules)
    defer { FaultInjection.end(session) }
    try folder.directory.synchronize()
    #expect(try lock.tryLock(.exclusive))
    #expect(FaultInjection.report(session).triggered == 6)
  }
}
