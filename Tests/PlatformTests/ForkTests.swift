#if canImport(Glibc)
  import Dispatch
  import Platform
  import TestSupport
  import Testing

  /// What a forked child has of its parent's, and lets go of.
  @Suite struct ForkTests {
    let folder = TemporaryFolder()

    /// What is at its addresses in the child is the child's.
    @Test func aMapThatAChildDoesNotHaveIsLeftAlone() throws {
      let size = 16 << 20
      let file = try folder.directory.create("file")
      try file.preallocate(size)
      var map: MemoryMap? = try MemoryMap(file, size: size)
      let base = try #require(map).base
      let result = inForkedChild {
        let own = mmap(base, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard own == base else { return 1 }
        base.storeBytes(of: 42, as: UInt8.self)
        map = nil
        return base.load(as: UInt8.self) == 42 ? 0 : 2
      }
      #expect(result == 0)
      map = nil
    }

    /// The owners of what it gives up close the numbers that they know: none of them may be something else's by then.
    @Test func aChildThatHasNoDescriptorLeftKeepsTheNumbersOfLocks() throws {
      let directory = folder.directory
      // A process of its own, since limits are a whole process's.
      let result = inForkedChild {
        do throws(SystemError) {
          var locks: [Held] = []
          for number in 0..<3 { locks.append(Held(FileLock(try directory.create("lock\(number)")))) }
          for held in locks {
            if try !held.lock.tryLock(.exclusive) { return 1 }
          }
          let last = dup(0)
          var limit = rlimit(rlim_cur: rlim_t(last) + 20, rlim_max: rlim_t(last) + 20)
          guard last >= 0, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 2 }
          while open("/dev/null", O_RDONLY) >= 0 {}
          return inForkedChild {
            guard open("/dev/null", O_RDONLY) < 0, errno == EMFILE else { return 3 }
            locks = []
            // Now there is room for three, and each is the child's.
            let own = (0..<3).map { _ in open("/dev/null", O_RDONLY) }
            for descriptor in own where fcntl(descriptor, F_GETFD) < 0 { return 4 }
            return open("/dev/null", O_RDONLY) < 0 ? 0 : 5
          }
        } catch { return 6 }
      }
      #expect(result == 0)
    }

    private final class Held {
      let lock: FileLock
      init(_ lock: consuming FileLock) { self.lock = lock }
    }

    /// A lock that is let go of is nobody's, whoever is forked meanwhile.
    @Test func noChildKeepsALockThatIsLetGoOf() throws {
      let directory = folder.directory
      _ = try directory.create("lock")
      let (isOver, group) = (Guarded(false), DispatchGroup())
      inBackground(group) {
        do throws(SystemError) {
          while !isOver.current {
            let lock = FileLock(try directory.create("lock"))
            if try !lock.tryLock(.exclusive) { break }
          }
        } catch { Issue.record("\(error)") }
      }
      var children: [pid_t] = []
      for _ in 0..<60 {
        let child = fork()
        if child == 0 {
          limitForkedChild()
          while true { pause() }
        }
        children.append(child)
      }
      isOver { $0 = true }
      group.wait()
      // All children live.
      let lock = FileLock(try directory.create("lock"))
      #expect(try lock.lock(.exclusive, within: 10_000_000_000))
      for child in children {
        kill(child, SIGKILL)
        _ = result(ofForkedChild: child)
      }
    }
  }
#endif
